import { join } from "node:path";
import { beforeAll, describe, expect, it, type TestContext } from "vitest";
import { isMarkedAsRepeated, REPEATED_MARK } from "../src/core/repetition.ts";
import type { PlatformTraits } from "../src/index.ts";
import { type Judge, type ShownMessage, shownIn, startGatewayChild, startJudge } from "./gateway/drive.ts";
import type { ChildOptions } from "./gateway/gateway-process.ts";
import type { ChatPlace, Witnessed } from "./gateway/protocol.ts";
import { TOLD } from "./gateway/verdict.ts";
import type { Child } from "./support/child.ts";
import { temporaryFolder } from "./support/folder.ts";
import { writeNewDatabase } from "./support/new-database.ts";
import { isProof, schedule } from "./support/schedule.ts";

type Outbound = PlatformTraits["outbound"];

const ann: ChatPlace = { chat: "dm-ann", type: "dm" };
const ANSWER = "answer to [q1], in a few words";
/** Every fourth moment from the second on, and at full length all of them. */
const some = <Moment>(moments: readonly Moment[]): readonly Moment[] =>
  schedule(
    moments.filter((_, at) => at % 4 === 1),
    moments,
  );
const EVERY: readonly Outbound[] = schedule(
  ["can_be_looked_up", "unknowable"],
  ["idempotent", "can_be_looked_up", "unknowable"],
);

/** For tests that see the same however a message is sent: one way of sending, and at full length all of them. */
const inOneWay = (outbound: Outbound) => it.runIf(isProof || outbound === "unknowable");

let judges: Judge;

beforeAll(async () => {
  judges = await startJudge();
  return () => judges.stop();
});

/** A judge, a home, and processes that work on it one after the other. */
interface Stage {
  readonly judge: Judge;
  /** A gateway that runs until the test is over. */
  run(more?: Partial<ChildOptions>): Child;
  /** A gateway that falls there, and has fallen. */
  fall(killAt: string, more?: Partial<ChildOptions>): Promise<void>;
  /** Says something more and waits for its answer: whatever else was on its way has come before it. */
  settle(place?: ChatPlace): Promise<void>;
  /** The texts that the bot's messages have, without the one that `settle` has asked for. */
  texts(chat?: string): Promise<string[]>;
  shown(chat?: string): Promise<readonly ShownMessage[]>;
}

async function stage(
  { onTestFinished }: TestContext,
  outbound: Outbound,
  more: Partial<ChildOptions> = {},
): Promise<Stage> {
  const folder = temporaryFolder();
  const judge = await judges.another({ idempotent: outbound === "idempotent" });
  const children: Child[] = [];
  onTestFinished(async () => {
    for (const child of children) child.process.kill("SIGKILL");
    await Promise.all(children.map(({ ended }) => ended));
    folder.remove();
  });
  const file = join(folder.path, "postrider.db");
  await writeNewDatabase(file);
  const options: ChildOptions = {
    file,
    judge: { url: judge.url, token: judge.token, effects: judge.effects },
    outbound,
    ...more,
  };
  const start = (others: Partial<ChildOptions>): Child => {
    const child = startGatewayChild({ ...options, ...others });
    children.push(child);
    return child;
  };
  let settled = 0;
  const shown = async (chat = ann.chat): Promise<readonly ShownMessage[]> =>
    (await judge.shown(chat)).filter(({ text }) => !text.includes("[settled"));
  return {
    judge,
    run: (others = {}) => start(others),
    async fall(killAt, others = {}) {
      const { signal, code } = await start({ ...others, killAt }).ended;
      expect({ killAt, signal, code }).toEqual({ killAt, signal: "SIGKILL", code: null });
    },
    async settle(place = ann) {
      settled += 1;
      const mark = `[settled-${settled}]`;
      await judge.say(place, "ann", mark);
      await judge.until(`the answer to ${mark}`, (all) => isShown(all, mark));
    },
    shown,
    texts: async (chat) => (await shown(chat)).map(({ text }) => text),
  };
}

const isShown = (witnessed: readonly Witnessed[], words: string): boolean =>
  shownIn(witnessed).some(({ text }) => text.includes(words));
const effects = (witnessed: readonly Witnessed[]): string[] =>
  witnessed.flatMap((event) => (event.kind === "effect" ? [event.name] : []));

describe.concurrent("a gateway that falls before the message is stored", () => {
  it("answers it once, since the messenger brings it again", async (test) => {
    const { judge, fall, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1]");
    await fall("accept:before");
    run();
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });
});

describe.concurrent("a gateway that falls after the message is stored", () => {
  it.for(some(["accept:after", "agent:before", "agent:during", "agent:after", "finish:before"]))(
    "at %s answers it once, after the restart",
    async (killAt, test) => {
      const { judge, fall, run, settle, texts } = await stage(test, "unknowable");
      await judge.say(ann, "ann", "[q1]");
      await fall(killAt);
      run();
      await judge.until("the answer", (all) => isShown(all, "[q1]"));
      await judge.bringAgain(ann.chat);
      await settle();
      expect(await texts()).toEqual([ANSWER]);
    },
  );

  it("answers what was said while it was down, in order, and once", async (test) => {
    const { judge, fall, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1]");
    await fall("agent:during");
    await judge.say(ann, "ann", "[q2]");
    await judge.say(ann, "ann", "[q3]");
    run();
    await settle();
    expect(await texts()).toEqual([1, 2, 3].map((n) => `answer to [q${n}], in a few words`));
  });

  it("gives up when two processes have died over it, tells the person, and goes on", async (test) => {
    const { judge, fall, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1]");
    await fall("agent:during");
    await fall("agent:during");
    run();
    await settle();
    const [notice, ...more] = await texts();
    expect(more).toEqual([]);
    expect(notice).toMatch(/ended 2 times .* not tried again/);
  });
});

describe.concurrent("a gateway that falls while something is done outside", () => {
  it.for<[string, number]>(
    some([
      ["tool:before", 0],
      ["tool:acted", 1],
      ["tool:after", 1],
      ["agent:during", 1],
      ["finish:before", 1],
    ]),
  )("at %s does not do it again, tells the person, and asks", async ([killAt, times], test) => {
    const { judge, fall, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1] errand letter");
    await fall(killAt);
    run();
    await judge.until("the notice", (all) => isShown(all, "errand may have acted"));
    await settle();
    const [notice, ...more] = await texts();
    expect(more).toEqual([]);
    expect(notice).toMatch(TOLD);
    expect(notice).toMatch(/tell me how to go on/);
    expect(effects(judge.witnessed)).toEqual(Array.from({ length: times }, () => "letter"));
  });

  it("does it when nothing had begun", async (test) => {
    const { judge, fall, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1] errand letter");
    await fall("agent:before");
    run();
    await settle();
    expect(await texts()).toEqual([ANSWER]);
    expect(effects(judge.witnessed)).toEqual(["letter"]);
  });
});

describe.concurrent.each(EVERY)("a gateway with an answer to send, where sending is %s,", (outbound) => {
  inOneWay(outbound).for(some(["finish:after", "send:before"]))(
    "that falls at %s sends it once",
    async (killAt, test) => {
      const { judge, fall, run, settle, texts } = await stage(test, outbound);
      await judge.say(ann, "ann", "[q1]");
      await fall(killAt);
      run();
      await settle();
      const [answer, ...more] = await texts();
      expect(more).toEqual([]);
      // Where nobody can say whether it had gone out, it carries the mark, although it was not repeated.
      expect(answer?.replace(`${REPEATED_MARK}\n`, "")).toBe(ANSWER);
      if (outbound !== "unknowable") expect(answer).toBe(ANSWER);
    },
  );

  it.for(some(["send:after", "settle:before"]))(
    "that falls at %s repeats nothing unmarked, and at most once",
    async (killAt, test) => {
      const { judge, fall, run, settle, texts } = await stage(test, outbound);
      await judge.say(ann, "ann", "[q1]");
      await fall(killAt);
      run();
      await settle();
      const marked = outbound === "unknowable" ? [`${REPEATED_MARK}\n${ANSWER}`] : [];
      expect(await texts()).toEqual([ANSWER, ...marked]);
    },
  );

  inOneWay(outbound)("that falls at settle:after does not send it again", async (test) => {
    const { judge, fall, run, settle, texts } = await stage(test, outbound);
    await judge.say(ann, "ann", "[q1]");
    await fall("settle:after");
    run();
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });

  it("whose connection is cut after it was taken repeats nothing unmarked, and at most once", async (test) => {
    const { judge, run, settle, texts } = await stage(test, outbound);
    await judge.plan({ on: "send", fault: { kind: "cut" } });
    await judge.say(ann, "ann", "[q1]");
    run();
    await settle();
    const marked = outbound === "unknowable" ? [`${REPEATED_MARK}\n${ANSWER}`] : [];
    expect(await texts()).toEqual([ANSWER, ...marked]);
  });

  inOneWay(outbound)(
    "in several messages sends each once and in order, wherever it falls between them",
    async (test) => {
      const { judge, fall, run, settle, texts } = await stage(test, outbound);
      await judge.say(ann, "ann", "[q1] long 5000");
      await fall("settle:before:2");
      run();
      await settle();
      const pieces = (await texts()).filter((text) => !isMarkedAsRepeated(text));
      const whole = ANSWER.padEnd(5000, "x");
      expect(pieces.join("").replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
      const marked = (await texts()).filter(isMarkedAsRepeated);
      expect(marked.length).toBe(outbound === "unknowable" ? 1 : 0);
    },
  );

  inOneWay(outbound)("as long as a message may be sends it again although a mark is added", async (test) => {
    const { judge, fall, run, settle, texts } = await stage(test, outbound);
    await judge.say(ann, "ann", "[q1] long 2000");
    await fall("settle:before");
    run();
    await settle();
    const whole = ANSWER.padEnd(2000, "x").replace(/\s/g, "");
    const unmarked = (await texts()).filter((text) => !isMarkedAsRepeated(text));
    expect(unmarked.join("").replace(/\s/g, "")).toBe(whole);
  });
});

describe.concurrent("a gateway whose messenger makes difficulties", () => {
  it.for([
    ["asks to wait", { kind: "wait", ms: 50 }],
    ["fails", { kind: "fail" }],
  ] as const)("sends once when it %s", async ([, fault], test) => {
    const { judge, run, settle, texts } = await stage(test, "unknowable");
    await judge.plan({ on: "send", fault });
    await judge.say(ann, "ann", "[q1]");
    run();
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });

  it("goes on in a chat where an answer was refused, and in every other", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "unknowable");
    await judge.plan({ on: "send", chat: ann.chat, fault: { kind: "refuse" } });
    await judge.say(ann, "ann", "[q1]");
    run();
    await judge.until("the refusal", (all) => all.some(({ kind }) => kind === "fault"));
    const bob: ChatPlace = { chat: "dm-bob", type: "dm" };
    await judge.say(bob, "bob", "[q2]");
    await judge.until("bob's answer", (all) => isShown(all, "[q2]"));
    await settle();
    expect((await texts()).filter((text) => text.includes(ANSWER))).toEqual([]);
    expect(await texts(bob.chat)).toEqual(["answer to [q2], in a few words"]);
  });

  it("sends once when even looking up what was sent fails at first", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "can_be_looked_up");
    await judge.plan({ on: "send", fault: { kind: "drop" } });
    await judge.plan({ on: "sent", fault: { kind: "fail" } });
    await judge.say(ann, "ann", "[q1]");
    run();
    await judge.until("the answer", (all) => isShown(all, "[q1]"));
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });

  it("sends the messages of one answer in order, however long it takes to hear that they are stored", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "idempotent", { slowAt: "finish:after:700" });
    await judge.say(ann, "ann", "[q1] long 5000");
    run();
    await settle();
    const whole = ANSWER.padEnd(5000, "x");
    expect((await texts()).join("").replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
  });

  it("receives again when the messenger was gone for a while", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "unknowable");
    const child = run();
    await child.heard(isReady);
    await judge.plan({ on: "updates", fault: { kind: "drop" } });
    await judge.say(ann, "ann", "[q1]");
    await judge.until("the answer", (all) => isShown(all, "[q1]"));
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });
});

/** Long enough for a draft to be shown. */
const slow = "[q1] pause 1300";

describe.concurrent.each(schedule(["unknowable"] as const, ["idempotent", "unknowable"] as const))(
  "a gateway that shows drafts, where sending is %s,",
  (outbound) => {
    it("replaces the draft with the whole answer", async (test) => {
      const { judge, run, settle, shown } = await stage(test, outbound, { streaming: true });
      await judge.say(ann, "ann", slow);
      run();
      await settle();
      const [answer, ...more] = await shown();
      expect(more).toEqual([]);
      expect(answer?.text).toBe(ANSWER);
      expect(answer?.texts.length).toBeGreaterThan(1);
    });

    it.for(
      some([
        "recordDraftOutcome:after",
        "finish:before",
        "finish:after",
        "edit:before",
        "edit:after",
        "settle:before",
      ]),
    )("and falls at %s never shows it twice", async (killAt, test) => {
      const { judge, fall, run, settle, shown } = await stage(test, outbound, { streaming: true });
      await judge.say(ann, "ann", slow);
      await fall(killAt);
      run();
      await settle();
      const texts = (await shown()).map(({ text }) => text);
      expect(texts).toEqual([ANSWER]);
    });
  },
);

describe.concurrent.each(EVERY)("a gateway that shows drafts, where sending is %s,", (outbound) => {
  it.for(some(["beginDraft:after", "send:before", "send:after"]))(
    "and falls at %s, when nobody knows whether it is shown, ends with the whole answer once",
    async (killAt, test) => {
      const { judge, fall, run, settle, shown } = await stage(test, outbound, { streaming: true });
      await judge.say(ann, "ann", slow);
      await fall(killAt);
      run();
      await settle();
      const texts = (await shown()).map(({ text }) => text);
      const whole = texts.filter((text) => text.endsWith(ANSWER));
      expect(whole.length).toBe(1);
      if (outbound !== "unknowable") expect(texts).toEqual([ANSWER]);
      // An unfinished draft may stay where it cannot be found; what follows it carries the mark.
      else if (texts.length > 1) expect(texts.map(isMarkedAsRepeated)).toEqual([false, true]);
    },
  );
});

describe.concurrent("a gateway that is told to end", () => {
  it("in the middle of an answer ends by itself, and the next one answers once", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1] pause 400");
    const first = run();
    await judge.until("typing", (all) => all.some(({ kind }) => kind === "typing"));
    first.process.kill("SIGTERM");
    expect(await first.ended).toEqual({ code: 0, signal: null });
    run();
    await settle();
    expect((await texts()).filter((text) => text.includes("[q1]"))).toHaveLength(1);
    expect(judge.witnessed.filter(({ kind }) => kind === "conflict")).toEqual([]);
  });
});

describe.concurrent("a gateway that falls over a command", () => {
  it.for(
    some(["acceptCommand:before", "acceptCommand:after", "enqueue:before", "enqueue:after", "send:after"]),
  )("at %s answers it once, if it only looks", async (killAt, test) => {
    const { judge, fall, run, settle, texts } = await stage(test, "idempotent");
    await judge.say(ann, "ann", "/status");
    await fall(killAt);
    run();
    await settle();
    expect(await texts()).toHaveLength(1);
  });

  it.for(some(["setTitle:before", "setTitle:after", "enqueue:before"]))(
    "at %s says that it may have happened, if it changes something",
    async (killAt, test) => {
      const { judge, fall, run, settle, texts } = await stage(test, "idempotent");
      await judge.say(ann, "ann", "[q0]");
      await judge.say(ann, "ann", "/title Blue");
      await fall(killAt);
      run();
      await settle();
      const replies = (await texts()).filter((text) => !text.includes("[q0]"));
      expect(replies).toEqual([expect.stringContaining("may have taken effect or not")]);
    },
  );
});

function isReady(line: { ready?: true }): boolean {
  return line.ready === true;
}
