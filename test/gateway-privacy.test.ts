import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OWNER, sqliteStore } from "../src/index.ts";
import { type Judge, type ShownMessage, shownIn, startJudge } from "./gateway/drive.ts";
import type { ChatPlace } from "./gateway/protocol.ts";
import { openStage, type Stage } from "./gateway/stage.ts";
import { marksIn } from "./gateway/telling-agent.ts";

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

/** Everything that a message of the bot shows: its words, what can be pressed, and what is in its files. */
function allOf({ texts, buttons = [], files = [] }: ShownMessage): string {
  const labels = buttons.flat().flatMap(({ label, line }) => [label, line]);
  const documents = files.flatMap(({ name, base64 }) => [name, Buffer.from(base64, "base64").toString()]);
  return [...texts, ...labels, ...documents].join("\n");
}

const LOOKS = ["/sessions", "/search holiday", "/search answer", "/history", "/export", "/export jsonl"];
const MORE_LOOKS = [
  "/resume",
  "/status",
  "/why",
  "/where",
  "/insights",
  "/usage",
  "/title",
  "/busy",
  "/help",
];

/** In each main group everybody has a conversation of their own; each topic is one for all who speak there. */
describe.concurrent("who may see what", () => {
  let stage: Stage;
  const { ask, everything } = {
    ask: (place: ChatPlace, person: string, words: string) => stage.ask(place, person, words),
    /** All that somebody gets to see by commands that only look. */
    async everything(place: ChatPlace, person: string): Promise<string> {
      const seen: string[] = [];
      for (const line of [...LOOKS, ...MORE_LOOKS]) seen.push(allOf(await ask(place, person, line)));
      return seen.join("\n");
    },
  };
  const handleIn = async (place: ChatPlace, person: string): Promise<string> => {
    const { text } = await ask(place, person, "/status");
    const [, handle] = /`([a-z0-9]{3,})`\)?, /.exec(text) ?? [];
    if (handle === undefined) throw new Error(`no handle in ${text}`);
    return handle;
  };

  /** All that the agent could read when it answered this. */
  const readFor = (mark: string): string[] => {
    const asked = stage.given().find(({ history }) => history.at(-1)?.includes(mark));
    return marksIn(asked?.history.join(" ") ?? "");
  };

  beforeAll(async () => {
    stage = await openStage(judges, { agent: "telling", settings: { scope: { threadsPerUser: false } } });
    const store = await sqliteStore({ file: stage.file, mode: "in-process" });
    for (const userId of ["ann", "annb"])
      await store.link({ account: { platform: "fake", userId }, person: OWNER, now: Date.now() });
    await store.close();
    await stage.start();
  });
  afterAll(() => stage.end());

  it("keeps a private session out of groups, and says where to go on in it", async () => {
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
    // What was said in the group is in the person's own lists, wherever only they read.
    expect(marksIn(await everything(dm("dan"), "dan"))).toEqual(expect.arrayContaining(["zdanx1", "zdanx3"]));
    // Nobody else is even told that there is such a session.
    for (const place of [dm("dora"), here]) {
      expect((await ask(place, "dora", `/resume ${handle}`)).text).toMatch(/There is no session/);
      expect((await ask(place, "dora", `/history ${handle}/1`)).text).toMatch(/There is no session/);
    }
    expect(marksIn(await everything(dm("dora"), "dora")).filter((mark) => mark.startsWith("zdan"))).toEqual(
      [],
    );
  });

  it("gives each in a group their own conversation, and nobody another's", async () => {
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

  it("shows what all share in a topic to all there, and to nobody anywhere else", async () => {
    const here = group("fay", "17");
    await ask(here, "fay", "zfayx1 holiday");
    await ask(here, "fred", "zfredx1 holiday");
    const handle = await handleIn(here, "fay");
    for (const person of ["fay", "fred"])
      expect(new Set(marksIn(await everything(here, person)))).toEqual(new Set(["zfayx1", "zfredx1"]));
    // Another topic of the same group is another conversation.
    await ask(group("fay", "18"), "fay", "zfayx2 holiday");
    expect(readFor("zfayx2")).toEqual(["zfayx2"]);
    for (const place of [dm("fay"), group("others")]) {
      await ask(place, "fay", "zfayx3 holiday");
      expect((await ask(place, "fay", `/resume ${handle}`)).text).toMatch(/There is no session/);
      expect(new Set(marksIn(await everything(place, "fay")))).toEqual(new Set(["zfayx3"]));
    }
  });

  it("gives somebody with two accounts the same sessions on both, where nobody reads along", async () => {
    await ask(dm("ann"), "ann", "zannx1 holiday");
    const handle = await handleIn(dm("ann"), "ann");
    await ask(dm("annb"), "annb", "zannx2 holiday");
    expect(marksIn(await everything(dm("annb"), "annb"))).toEqual(
      expect.arrayContaining(["zannx1", "zannx2"]),
    );
    expect((await ask(dm("annb"), "annb", `/resume ${handle}`)).text).toMatch(/^Back in/);
    await ask(dm("annb"), "annb", "zannx3 holiday");
    expect(readFor("zannx3")).toEqual(["zannx1", "zannx1", "zannx3"]);
    // The answer comes where it was asked.
    const told = shownIn(stage.judge.witnessed).filter(({ text }) => /answer to zannx3/.test(text));
    expect(told.map(({ chat }) => chat)).toEqual(["dm-annb"]);
  });

  it("takes a session that goes on in private out of its group", async () => {
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
});
