import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScopeSettings } from "../src/core/identity.ts";
import { type CrowdReport, driveCrowd, linkAnn } from "./gateway/crowd.ts";
import { type Judge, shownIn, startJudge } from "./gateway/drive.ts";
import { everythingIn, privacyVerdictOn, type World } from "./gateway/privacy-verdict.ts";
import type { ChatPlace, Witnessed } from "./gateway/protocol.ts";
import { openStage, type Stage } from "./gateway/stage.ts";
import { type Given, marksIn } from "./gateway/telling-agent.ts";

let judges: Judge;

beforeAll(async () => {
  judges = await startJudge();
  return () => judges.stop();
});

const dm = (person: string): ChatPlace => ({ chat: `dm-${person}`, type: "dm" });
const group = (name: string, thread?: string): ChatPlace => ({
  chat: `group-${name}`,
  type: "group",
  ...(thread !== undefined && { thread }),
});

const LOOKS = ["/sessions", "/search holiday", "/search answer", "/history", "/export", "/export jsonl"];
const MORE_LOOKS = ["/resume", "/status", "/why", "/where", "/insights", "/usage", "/title", "/busy"];

/** In each main group everybody has a separate conversation; each topic has one shared conversation. */
describe.concurrent("visibility of sessions in messengers", () => {
  let stage: Stage;
  const { ask, everything } = {
    ask: (place: ChatPlace, person: string, words: string) => stage.ask(place, person, words),
    /** All output of read-only commands for a person. */
    async everything(place: ChatPlace, person: string): Promise<string> {
      const seen: string[] = [];
      for (const line of [...LOOKS, ...MORE_LOOKS]) seen.push(everythingIn(await ask(place, person, line)));
      return seen.join("\n");
    },
  };
  const handleIn = async (place: ChatPlace, person: string): Promise<string> => {
    const { text } = await ask(place, person, "/status");
    const [, handle] = /`([a-z0-9]{3,})`\)?, /.exec(text) ?? [];
    if (handle === undefined) throw new Error(`no handle in ${text}`);
    return handle;
  };

  /** All marks that the agent could read when it answered this. */
  const readFor = (mark: string): string[] => {
    const asked = stage.given().find(({ history }) => history.at(-1)?.includes(mark));
    return marksIn(asked?.history.join(" ") ?? "");
  };

  beforeAll(async () => {
    stage = await openStage(judges, { agent: "telling", settings: { scope: { threadsPerUser: false } } });
    await linkAnn(stage.file);
    await stage.start();
  });
  afterAll(() => stage.end());

  it("keeps a private session out of groups, and tells the person to resume it in a direct chat", async () => {
    await ask(dm("dan"), "dan", "zdanx1 holiday");
    await ask(dm("dan"), "dan", "/title zdanx2 secret");
    const handle = await handleIn(dm("dan"), "dan");
    const here = group("dan");
    await ask(here, "dan", "zdanx3 holiday");
    await ask(here, "dora", "zdorax1 holiday");
    for (const line of [`/resume ${handle}`, "/resume zdanx2 secret", `/resume ${handle}/1`]) {
      const { text } = await ask(here, "dan", line);
      expect(text, line).toMatch(/private, and others read along in this chat\. Resume it in a direct chat/);
    }
    const { text } = await ask(here, "dan", `/history ${handle}/1`);
    expect(text).toMatch(/private/);
    expect(marksIn(await everything(here, "dan"))).not.toContain("zdanx1");
    // A person's lists contain their messages from the group in chats that only they read.
    expect(marksIn(await everything(dm("dan"), "dan"))).toEqual(expect.arrayContaining(["zdanx1", "zdanx3"]));
    // Other people do not even see that the session exists.
    for (const place of [dm("dora"), here]) {
      expect((await ask(place, "dora", `/resume ${handle}`)).text).toMatch(/There is no session/);
      expect((await ask(place, "dora", `/history ${handle}/1`)).text).toMatch(/There is no session/);
    }
    expect(marksIn(await everything(dm("dora"), "dora")).filter((mark) => mark.startsWith("zdan"))).toEqual(
      [],
    );
  });

  it("gives each person in a group a separate conversation", async () => {
    const here = group("eve");
    await ask(here, "eve", "zevex1 holiday");
    await ask(here, "eve", "/title zevex2 plans");
    const handle = await handleIn(here, "eve");
    await ask(here, "eli", "zelix1 holiday");
    expect(new Set(marksIn(await everything(here, "eli")))).toEqual(new Set(["zelix1"]));
    for (const line of [
      `/resume ${handle}`,
      "/resume zevex2 plans".replace(/z\w+ /, ""),
      `/history ${handle}/1`,
    ])
      expect(marksIn((await ask(here, "eli", line)).text)).toEqual([]);
    await ask(here, "eli", "/fork");
    await ask(here, "eli", "/undo");
    expect(new Set(marksIn(await everything(here, "eve")))).toEqual(new Set(["zevex1", "zevex2"]));
  });

  it("shows the shared session of a topic to everybody there, and nowhere else", async () => {
    const here = group("fay", "17");
    await ask(here, "fay", "zfayx1 holiday");
    await ask(here, "fred", "zfredx1 holiday");
    const handle = await handleIn(here, "fay");
    for (const person of ["fay", "fred"])
      expect(new Set(marksIn(await everything(here, person)))).toEqual(new Set(["zfayx1", "zfredx1"]));
    // Another topic of the same group has another conversation.
    await ask(group("fay", "18"), "fay", "zfayx2 holiday");
    expect(readFor("zfayx2")).toEqual(["zfayx2"]);
    for (const place of [dm("fay"), group("others")]) {
      await ask(place, "fay", "zfayx3 holiday");
      expect((await ask(place, "fay", `/resume ${handle}`)).text).toMatch(/There is no session/);
      expect(new Set(marksIn(await everything(place, "fay")))).toEqual(new Set(["zfayx3"]));
    }
  });

  it("gives a person with two accounts the same sessions in both direct chats", async () => {
    await ask(dm("ann"), "ann", "zannx1 holiday");
    const handle = await handleIn(dm("ann"), "ann");
    await ask(dm("annb"), "annb", "zannx2 holiday");
    expect(marksIn(await everything(dm("annb"), "annb"))).toEqual(
      expect.arrayContaining(["zannx1", "zannx2"]),
    );
    expect((await ask(dm("annb"), "annb", `/resume ${handle}`)).text).toMatch(/^Back in/);
    await ask(dm("annb"), "annb", "zannx3 holiday");
    expect(readFor("zannx3")).toEqual(["zannx1", "zannx1", "zannx3"]);
    // The answer goes to the chat of the question.
    const told = shownIn(stage.judge.witnessed).filter(({ text }) => /answer to zannx3/.test(text));
    expect(told.map(({ chat }) => chat)).toEqual(["dm-annb"]);
  });

  it("removes a session from its group when it continues in a direct chat", async () => {
    const here = group("gus");
    await ask(here, "gus", "zgusx1 holiday");
    const handle = await handleIn(here, "gus");
    await ask(dm("gus"), "gus", "zgusx2 holiday");
    expect((await ask(dm("gus"), "gus", `/resume ${handle}`)).text).toMatch(/^Back in/);
    await ask(dm("gus"), "gus", "zgusx3 secret holiday");
    await ask(here, "gus", "zgusx4 holiday");
    expect(readFor("zgusx4")).toEqual(["zgusx4"]);
    expect(marksIn(await everything(here, "gus"))).not.toContain("zgusx3");
    expect((await ask(here, "gus", `/resume ${handle}`)).text).toMatch(/private/);
  });

  it("refuses to resume a session with an answer in progress, stops no answer, and lists the cancelled messages", async () => {
    const here = group("ivy");
    await ask(here, "ivy", "zivyx1");
    const handle = await handleIn(here, "ivy");
    await ask(dm("ivy"), "ivy", "zivyx2");
    const { judge } = stage;
    await judge.say(here, "ivy", "zivyx3 pause 20000");
    await judge.say(dm("ivy"), "ivy", "zivyx4 pause 20000");
    await judge.until("both are being answered", () =>
      ["zivyx3", "zivyx4"].every((mark) => readFor(mark).length > 0),
    );
    await judge.say(dm("ivy"), "ivy", "zivyx5");
    const { text } = await ask(dm("ivy"), "ivy", `/resume ${handle}`);
    expect(text).toMatch(/^An answer is being written in that session\..*will not be:\n\n> zivyx5$/s);
    expect((await ask(dm("ivy"), "ivy", "/status")).text).toMatch(/answering/);
    for (const place of [here, dm("ivy")]) expect((await ask(place, "ivy", "/stop")).text).toBe("Stopped.");
  });
});

describe("a message that is redelivered, edited or deleted", () => {
  it("changes only pending messages, and is answered once", async ({ onTestFinished }) => {
    const stage = await openStage(judges, { agent: "telling" });
    onTestFinished(() => stage.end());
    await stage.start();
    const { judge } = stage;
    const place = dm("hal");
    const say = async (words: string) => (await judge.say(place, "hal", words)).messageId;
    const running = await say("zhalx1 pause 20000");
    await judge.until("the agent is asked", () => stage.given().length === 1);
    const [edited, withdrawn, twice] = [await say("zhalx2"), await say("zhalx3"), await say("zhalx4")];
    await judge.bringAgain(place.chat);
    await judge.change(place.chat, edited, "zhalx5");
    await judge.change(place.chat, edited, "zhalx6");
    await judge.change(place.chat, withdrawn);
    await judge.change(place.chat, running, "zhalx7");
    // In order of arrival: when this is done, all earlier changes are done.
    await judge.say(place, "hal", "/stop");
    await stage.sees("the last answer", ({ text }) => text.includes("zhalx4"));
    for (const answered of [edited, twice, running]) await judge.change(place.chat, answered, "zhalx8");
    await judge.bringAgain(place.chat);
    await judge.change(place.chat, twice);
    expect((await stage.ask(place, "hal", "zhalx9")).text).toBe("answer to zhalx9, of course");
    const words = (await judge.shown()).map(({ text }) => text);
    expect(words.filter((text) => text.startsWith("answer"))).toEqual([
      "answer to zhalx6, of course",
      "answer to zhalx4, of course",
      "answer to zhalx9, of course",
    ]);
    const asked = stage.given().filter(({ isForTitle }) => !isForTitle);
    expect(asked.map(({ history }) => marksIn(history.at(-1) ?? ""))).toEqual(
      ["zhalx1", "zhalx6", "zhalx4", "zhalx9"].map((mark) => [mark]),
    );
  });
});

const CROWDS: readonly (readonly [seed: number, where: string, ScopeSettings])[] = [
  [20_260_401, "each person has a separate conversation", {}],
  [20_260_402, "topics are shared", { threadsPerUser: false }],
  [20_260_403, "everything in the group is shared", { groupsPerUser: false }],
];

describe("many people in direct chats, a group and its topics", () => {
  const reports = new Map<number, CrowdReport>();

  beforeAll(async () => {
    await Promise.all(
      CROWDS.map(async ([seed, , scope]) => {
        const report = await driveCrowd(judges, seed, 12, scope);
        const { texts, changed, vanished, stopped, asked, sent } = report;
        console.log(
          `seed ${seed}: texts ${texts}, changed in time ${changed}, vanished ${vanished}, stopped ${stopped}, agents asked ${asked}, sent ${sent}`,
        );
        reports.set(seed, report);
      }),
    );
  }, 90_000);

  describe.each(CROWDS)("seed %i, where %s", (seed) => {
    it("shows nobody a message that they may not see", () => {
      expect(reports.get(seed)?.crossed).toEqual([]);
    });

    it("gives an agent only messages of its session", () => {
      expect(reports.get(seed)?.asked).toBeGreaterThan(50);
      expect(reports.get(seed)).toMatchObject({ mixed: [], strays: [] });
    });

    it("answers every message once", () => {
      expect(reports.get(seed)?.texts).toBeGreaterThan(50);
      expect(reports.get(seed)).toMatchObject({ lost: [], repeated: [], complaints: [] });
    });
  });
});

// A check that cannot fail proves nothing.
describe("the privacy check", () => {
  const world: World = {
    humanOf: (account) => account.replace("annb", "ann"),
    isShared: ({ thread }) => thread !== undefined,
  };
  const said = (seq: number, person: string, text: string, place: ChatPlace = dm(person)): Witnessed => ({
    ...{ seq, at: seq, kind: "said", person, messageId: String(seq), text },
    ...place,
  });
  const sent = (seq: number, text: string, { chat, thread }: ChatPlace, more = {}): Witnessed => ({
    ...{ seq, at: seq, kind: "sent", chat, messageId: String(seq), members: [], nonce: String(seq), text },
    ...(thread !== undefined && { thread }),
    ...more,
  });
  const changed = (seq: number, messageId: string, text?: string): Witnessed => ({
    ...{ seq, at: seq, kind: "changed", chat: "dm-ann", messageId },
    ...(text !== undefined && { text }),
  });
  const given = (seq: number, history: readonly string[], prompt = ""): Witnessed => {
    const about: Given = { session: "s", history, prompt, note: "", isForTitle: false };
    return { seq, at: seq, kind: "effect", name: JSON.stringify(about) };
  };
  const topic = group("g", "17");
  const base = [
    said(1, "ann", "zannx1"),
    sent(2, "answer to zannx1", dm("ann")),
    said(3, "bob", "zbobx1", topic),
    sent(4, "answer to zbobx1", topic),
    sent(5, "zannx1 is found", dm("annb")),
    given(6, ["zannx1"], "with ann"),
  ];

  it("accepts a correct run", () => {
    const waited = [
      said(7, "ann", "zannx2"),
      changed(8, "7", "zannx3"),
      sent(9, "answer to zannx3", dm("ann")),
    ];
    const gone = [said(10, "ann", "zannx4"), changed(11, "10")];
    const verdict = privacyVerdictOn([...base, ...waited, ...gone], world);
    const { crossed, mixed, lost, repeated } = verdict;
    expect([...crossed, ...mixed, ...lost, ...repeated]).toEqual([]);
    expect(verdict).toMatchObject({ texts: 4, changed: 1, vanished: 1, asked: 1 });
  });

  const file = { name: "k7f.md", mimeType: "text/plain", base64: Buffer.from("zannx1").toString("base64") };
  it.each<["crossed" | "mixed" | "lost" | "repeated", string, readonly Witnessed[]]>([
    ["crossed", "a hit in a group", [sent(7, "zannx1 is found", topic)]],
    ["crossed", "a shared text in a direct chat", [sent(7, "zbobx1 is found", dm("bob"))]],
    ["crossed", "a button", [sent(7, "Pick", dm("bob"), { buttons: [[{ label: "zannx1", line: "/" }]] })]],
    ["crossed", "a document", [sent(7, "", dm("bob"), { files: [file] })]],
    ["crossed", "an answer in another topic", [sent(7, "answer to zbobx1", group("g", "18"))]],
    ["mixed", "another's words", [given(7, ["zannx1", "zbobx1"])]],
    [
      "mixed",
      "another's name",
      [said(7, "bob", "zbobx2"), sent(8, "answer to zbobx2", dm("bob")), given(9, ["zannx1"], "with bob")],
    ],
    ["lost", "a text", [said(7, "ann", "zannx2")]],
    ["repeated", "an answer", [sent(7, "answer to zannx1", dm("ann"))]],
    ["repeated", "old words and new", [changed(7, "1", "zannx2"), sent(8, "answer to zannx2", dm("ann"))]],
  ])("detects as %s: %s", (kind, _, more) => {
    expect(privacyVerdictOn([...base, ...more], world)[kind]).not.toEqual([]);
  });
});
