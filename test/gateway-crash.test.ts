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
/** Every fourth point; at full length all of them. */
const some = <Moment>(moments: readonly Moment[]): readonly Moment[] =>
  schedule(
    moments.filter((_, at) => at % 4 === 0),
    moments,
  );
const EVERY: readonly Outbound[] = schedule(
  ["can_be_looked_up", "unknowable"],
  ["idempotent", "can_be_looked_up", "unknowable"],
);

/** The crash points are calls of the store. `gateway-load.test.ts` and `gateway-clock.test.ts` kill gateways with threads. */
const STORE_MODE = schedule("in-process" as const, "workers" as const);

/** For tests whose result does not depend on the way of sending: one way, and at full length all of them. */
const inOneWay = (outbound: Outbound) => it.runIf(isProof || outbound === "unknowable");

let judges: Judge;

beforeAll(async () => {
  judges = await startJudge();
  return () => judges.stop();
});

/** A judge, a home, and processes that use the home one after another. */
interface Stage {
  readonly judge: Judge;
  /** A gateway that runs until the end of the test. */
  run(more?: Partial<ChildOptions>): Child;
  /** A gateway that crashes at this point. Resolves after the crash. */
  crash(killAt: string, more?: Partial<ChildOptions>): Promise<void>;
  /** Sends another text and waits for its answer: everything else in progress was delivered before it. */
  settle(place?: ChatPlace): Promise<void>;
  /** The texts of the bot's messages, without the answer for `settle`. */
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
    storeMode: STORE_MODE,
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
    async crash(killAt, others = {}) {
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

describe.concurrent("a gateway that crashes before the message is stored", () => {
  it("answers it once, because the messenger redelivers it", async (test) => {
    const { judge, crash, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1]");
    await crash("accept:before");
    run();
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });
});

describe.concurrent("a gateway that crashes after the message is stored", () => {
  it.for(some(["accept:after", "agent:before", "agent:during", "agent:after", "finish:before"]))(
    "at %s answers the message once, after the restart",
    async (killAt, test) => {
      const { judge, crash, run, settle, texts } = await stage(test, "unknowable");
      await judge.say(ann, "ann", "[q1]");
      await crash(killAt);
      run();
      await judge.until("the answer", (all) => isShown(all, "[q1]"));
      await judge.bringAgain(ann.chat);
      await settle();
      expect(await texts()).toEqual([ANSWER]);
    },
  );

  it("answers messages that arrived while it was down, in order and once", async (test) => {
    const { judge, crash, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1]");
    await crash("agent:during");
    await judge.say(ann, "ann", "[q2]");
    await judge.say(ann, "ann", "[q3]");
    run();
    await settle();
    expect(await texts()).toEqual([1, 2, 3].map((n) => `answer to [q${n}], in a few words`));
  });

  it("gives up after the second crash in the same turn, notifies the person, and continues", async (test) => {
    const { judge, crash, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1]");
    await crash("agent:during");
    await crash("agent:during");
    run();
    await settle();
    const [notice, ...more] = await texts();
    expect(more).toEqual([]);
    expect(notice).toMatch(/ended 2 times .* not tried again/);
  });
});

describe.concurrent("a gateway that crashes during a tool call with an outside effect", () => {
  it.for<[string, number]>(
    some([
      ["tool:before", 0],
      ["tool:acted", 1],
      ["tool:after", 1],
      ["agent:during", 1],
      ["finish:before", 1],
    ]),
  )(
    "at %s does not repeat the call, notifies the person, and asks how to continue",
    async ([killAt, times], test) => {
      const { judge, crash, run, settle, texts } = await stage(test, "unknowable");
      await judge.say(ann, "ann", "[q1] errand letter");
      await crash(killAt);
      run();
      await judge.until("the notice", (all) => isShown(all, "errand may have acted"));
      await settle();
      const [notice, ...more] = await texts();
      expect(more).toEqual([]);
      expect(notice).toMatch(TOLD);
      expect(notice).toMatch(/tell me how to go on/);
      expect(effects(judge.witnessed)).toEqual(Array.from({ length: times }, () => "letter"));
    },
  );

  it("runs the call if it had not started", async (test) => {
    const { judge, crash, run, settle, texts } = await stage(test, "unknowable");
    await judge.say(ann, "ann", "[q1] errand letter");
    await crash("agent:before");
    run();
    await settle();
    expect(await texts()).toEqual([ANSWER]);
    expect(effects(judge.witnessed)).toEqual(["letter"]);
  });
});

describe.concurrent.each(EVERY)(
  "a gateway with an answer to send, on a platform where sending is %s,",
  (outbound) => {
    it.for(some(["finish:after", "send:before"]))(
      "that crashes at %s sends it once",
      async (killAt, test) => {
        const { judge, crash, run, settle, texts } = await stage(test, outbound);
        await judge.say(ann, "ann", "[q1]");
        await crash(killAt);
        run();
        await settle();
        const [answer, ...more] = await texts();
        expect(more).toEqual([]);
        // If it is unknown whether it was sent, it has the mark, although it was not repeated.
        expect(answer?.replace(`${REPEATED_MARK}\n`, "")).toBe(ANSWER);
        if (outbound !== "unknowable") expect(answer).toBe(ANSWER);
      },
    );

    it.for(some(["send:after", "settle:before"]))(
      "that crashes at %s repeats it at most once, with a mark",
      async (killAt, test) => {
        const { judge, crash, run, settle, texts } = await stage(test, outbound);
        await judge.say(ann, "ann", "[q1]");
        await crash(killAt);
        run();
        await settle();
        const marked = outbound === "unknowable" ? [`${REPEATED_MARK}\n${ANSWER}`] : [];
        expect(await texts()).toEqual([ANSWER, ...marked]);
      },
    );

    inOneWay(outbound)("that crashes at settle:after does not send it again", async (test) => {
      const { judge, crash, run, settle, texts } = await stage(test, outbound);
      await judge.say(ann, "ann", "[q1]");
      await crash("settle:after");
      run();
      await settle();
      expect(await texts()).toEqual([ANSWER]);
    });

    it("that loses the connection after the platform accepted it repeats it at most once, with a mark", async (test) => {
      const { judge, run, settle, texts } = await stage(test, outbound);
      await judge.plan({ on: "send", fault: { kind: "cut" } });
      await judge.say(ann, "ann", "[q1]");
      run();
      await settle();
      const marked = outbound === "unknowable" ? [`${REPEATED_MARK}\n${ANSWER}`] : [];
      expect(await texts()).toEqual([ANSWER, ...marked]);
    });

    it("in several messages sends each once and in order when it crashes between them", async (test) => {
      const { judge, crash, run, settle, texts } = await stage(test, outbound);
      await judge.say(ann, "ann", "[q1] long 5000");
      await crash("settle:before:2");
      run();
      await settle();
      const pieces = (await texts()).filter((text) => !isMarkedAsRepeated(text));
      const whole = ANSWER.padEnd(5000, "x");
      expect(pieces.join("").replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
      const marked = (await texts()).filter(isMarkedAsRepeated);
      expect(marked.length).toBe(outbound === "unknowable" ? 1 : 0);
    });

    inOneWay(outbound)(
      "of the maximum length sends it again, although the mark makes it longer",
      async (test) => {
        const { judge, crash, run, settle, texts } = await stage(test, outbound);
        await judge.say(ann, "ann", "[q1] long 2000");
        await crash("settle:before");
        run();
        await settle();
        const whole = ANSWER.padEnd(2000, "x").replace(/\s/g, "");
        const unmarked = (await texts()).filter((text) => !isMarkedAsRepeated(text));
        expect(unmarked.join("").replace(/\s/g, "")).toBe(whole);
      },
    );
  },
);

describe.concurrent("a gateway with an unreliable messenger", () => {
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

  it("continues in all chats after the messenger refused an answer", async (test) => {
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

  it("sends once when the lookup of sent messages fails at first", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "can_be_looked_up");
    await judge.plan({ on: "send", fault: { kind: "drop" } });
    await judge.plan({ on: "sent", fault: { kind: "fail" } });
    await judge.say(ann, "ann", "[q1]");
    run();
    await judge.until("the answer", (all) => isShown(all, "[q1]"));
    await settle();
    expect(await texts()).toEqual([ANSWER]);
  });

  it("sends the messages of one answer in order, even if the store confirms them slowly", async (test) => {
    const { judge, run, settle, texts } = await stage(test, "idempotent", { slowAt: "finish:after:700" });
    await judge.say(ann, "ann", "[q1] long 5000");
    run();
    await settle();
    const whole = ANSWER.padEnd(5000, "x");
    expect((await texts()).join("").replace(/\s/g, "")).toBe(whole.replace(/\s/g, ""));
  });

  it("receives again after the connection was lost", async (test) => {
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
  "a gateway that shows drafts, on a platform where sending is %s,",
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
    )("and crashes at %s shows the answer once", async (killAt, test) => {
      const { judge, crash, run, settle, shown } = await stage(test, outbound, { streaming: true });
      await judge.say(ann, "ann", slow);
      await crash(killAt);
      run();
      await settle();
      const texts = (await shown()).map(({ text }) => text);
      expect(texts).toEqual([ANSWER]);
    });
  },
);

describe.concurrent.each(EVERY)(
  "a gateway that shows drafts, on a platform where sending is %s,",
  (outbound) => {
    it.for(some(["beginDraft:after", "send:before", "send:after"]))(
      "and crashes at %s, when it is unknown whether the draft is shown, shows the complete answer once",
      async (killAt, test) => {
        const { judge, crash, run, settle, shown } = await stage(test, outbound, { streaming: true });
        await judge.say(ann, "ann", slow);
        await crash(killAt);
        run();
        await settle();
        const texts = (await shown()).map(({ text }) => text);
        const whole = texts.filter((text) => text.endsWith(ANSWER));
        expect(whole.length).toBe(1);
        if (outbound !== "unknowable") expect(texts).toEqual([ANSWER]);
        // An unfinished draft may stay if it cannot be found; the next message has the mark.
        else if (texts.length > 1) expect(texts.map(isMarkedAsRepeated)).toEqual([false, true]);
      },
    );
  },
);

describe.concurrent("a gateway that gets SIGTERM", () => {
  it("during an answer shuts down, and the next gateway answers once", async (test) => {
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

describe.concurrent("a gateway that crashes during a command", () => {
  it.for(
    some(["acceptCommand:before", "acceptCommand:after", "enqueue:before", "enqueue:after", "send:after"]),
  )("at %s answers it once, if it only reads", async (killAt, test) => {
    const { judge, crash, run, settle, texts } = await stage(test, "idempotent");
    await judge.say(ann, "ann", "/status");
    await crash(killAt);
    run();
    await settle();
    expect(await texts()).toHaveLength(1);
  });

  it.for(some(["setTitle:before", "setTitle:after", "enqueue:before"]))(
    "at %s reports that the command may have taken effect, if it changes something",
    async (killAt, test) => {
      const { judge, crash, run, settle, texts } = await stage(test, "idempotent");
      await judge.say(ann, "ann", "[q0]");
      await judge.say(ann, "ann", "/title Blue");
      await crash(killAt);
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
