import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { indexed, look } from "../../test/support/database.ts";
import { deadRunner, heldAgent, me, rowsIn, talkIn } from "../../test/support/talking.ts";
import { DAY, type Home, openHome } from "../../test/support/test-home.ts";
import { echo } from "../agents/echo.ts";
import { script } from "../agents/script.ts";
import { getText, textPart } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import { DEFAULT_RESET_POLICY, NO_RESET, type ResetPolicy } from "../core/reset-policy.ts";
import { localSource, type Source } from "../core/source.ts";
import type { Tool } from "../ports/tool.ts";
import { buildRouting } from "../sessions/routing.ts";

async function readTexts({ sessions }: Home, session: string): Promise<string[]> {
  return ((await sessions.messages(me, session)) ?? []).map(getText);
}

/** A message that a crashed process accepted; its turn had started, unless another one was running. */
async function acceptAndCrash(
  home: Home,
  words: string,
  source: Source = localSource(),
  policy: ResetPolicy = NO_RESET,
) {
  const runner = deadRunner();
  await home.store.runners.recordHeartbeat({ runner, now: home.clock.now() });
  const reset = { default: policy, byType: {}, byPlatform: {} };
  const accepted = await home.store.inbox.accept({
    ...buildRouting(source, { zone: "UTC", profile: "main", reset, scope: {}, clock: home.clock }),
    messageId: words,
    message: { role: "user", parts: [textPart(words)] },
    claim: { runner: runner.id, take: "one" },
  });
  if (accepted.duplicate || accepted.tooMany !== undefined) throw new Error("not taken");
  return accepted;
}

describe("a message", () => {
  it("is stored before the agent runs, and its answer is stored before it is returned", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk, events } = await talkIn(home, agent);
    const { session, answer, messageId } = await talk.submit("hello");
    expect(await readTexts(home, session.id)).toEqual(["hello"]);
    expect(talk.isAnswering()).toBe(true);
    const held = await agent.asked();
    await held.say("hi");
    held.end();
    const stored = await answer;
    expect(stored).toMatchObject({ role: "assistant", seq: 2, session: session.id });
    expect(await readTexts(home, session.id)).toEqual(["hello", "hi"]);
    expect(talk.isAnswering()).toBe(false);
    expect(events).toMatchObject([
      {
        type: "started",
        session: session.id,
        inputs: [{ seq: 1, origin: { platform: "local", platformMessageId: messageId } }],
      },
      { type: "text", text: "hi", session: session.id },
      { type: "ended", end: { outcome: "done", seqs: [2] } },
    ]);
  });

  it("is pending while an answer is in progress, and is answered next, in order", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const first = await talk.submit("one");
    const held = await agent.asked();
    const [second, third] = [await talk.submit("two"), await talk.submit("three")];
    const { id } = first.session;
    expect(await readTexts(home, id)).toEqual(["one"]);
    expect((await home.store.inbox.listPending({ asker: me, session: id })).map(getText)).toEqual([
      "two",
      "three",
    ]);
    await held.say("1");
    held.end();
    for (const number of ["2", "3"]) {
      const next = await agent.asked();
      await next.say(number);
      next.end();
    }
    const answers = await Promise.all([first, second, third].map(({ answer }) => answer));
    expect(answers.map((answer) => answer && getText(answer))).toEqual(["1", "2", "3"]);
    expect(await readTexts(home, id)).toEqual(["one", "1", "two", "2", "three", "3"]);
  });

  it("is refused when it is invalid, and nothing is stored", async () => {
    const home = await openHome();
    const { talk } = await talkIn(home, echo);
    await expect(talk.submit("x".repeat(26 * 1024 * 1024))).rejects.toMatchObject({ code: "too_large" });
    expect(await talk.findCurrent()).toBeUndefined();
  });

  it("in a new session brings the notice once, also when a second message arrives before the answer", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk, ask } = await talkIn(home, agent);
    const before = ask("before");
    (await agent.asked()).end();
    await before;
    home.clock.pass(2 * DAY);
    const [first, second] = [await talk.submit("one"), await talk.submit("two")];
    expect([first.fresh?.noticeDue, second.fresh?.noticeDue ?? false]).toEqual([true, false]);
    const notes: (string | undefined)[] = [];
    for (let turn = 0; turn < 2; turn += 1) {
      const held = await agent.asked();
      notes.push(held.turn.note);
      held.end();
    }
    await second.answer;
    expect(notes).toEqual([expect.stringContaining("no activity"), undefined]);
    const third = await talk.submit("three");
    expect(third.fresh).toBeUndefined();
  });
});

describe("a stop", () => {
  it("keeps the part of the answer that arrived, and the pending messages are answered", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    expect(await talk.stop()).toBe(false);
    const first = await talk.submit("one");
    const held = await agent.asked();
    await held.say("Once ");
    const second = await talk.submit("two");
    expect(await talk.stop()).toBe(true);
    expect(await first.answer).toMatchObject({ parts: [textPart("Once ")], origin: { interrupted: true } });
    const next = await agent.asked();
    // The model sees that the answer was interrupted.
    expect(next.turn.history.map(({ origin }) => origin?.interrupted ?? false)).toEqual([false, true, false]);
    await next.say("2");
    next.end();
    expect(await second.answer).toMatchObject({ parts: [textPart("2")] });
  });

  it("of pending messages resolves their answers with nothing, and returns their texts", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const first = await talk.submit("one");
    const held = await agent.asked();
    const waiting = [await talk.submit("two\nlines"), await talk.submit("three")];
    expect(await talk.cancelPending(first.conversation.number)).toEqual(["two\nlines", "three"]);
    expect(await Promise.all(waiting.map(({ answer }) => answer))).toEqual([undefined, undefined]);
    await held.say("1");
    held.end();
    await first.answer;
    expect(await readTexts(home, first.session.id)).toEqual(["one", "1"]);
    expect(await talk.cancelPending(first.conversation.number)).toEqual([]);
  });

  it("of one message changes no other, whether it is pending or in progress", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const first = await talk.submit("one");
    const held = await agent.asked();
    const [second, third] = [await talk.submit("two"), await talk.submit("three")];
    await second.withdraw();
    expect(await second.answer).toBeUndefined();
    expect(held.signal.aborted).toBe(false);
    await held.say("half");
    await first.withdraw();
    expect(held.signal.aborted).toBe(true);
    expect(await first.answer).toMatchObject({ origin: { interrupted: true } });
    const next = await agent.asked();
    // The answer has ended: there is nothing to stop.
    await first.withdraw();
    await next.say("3");
    next.end();
    await third.answer;
    await third.withdraw();
    expect(await readTexts(home, first.session.id)).toEqual(["one", "half", "three", "3"]);
  });

  it("ends every answer in progress in this process, in all sessions", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const first = await talk.submit("one");
    await (await agent.asked()).say("first");
    // Another process switched the conversation meanwhile.
    await home.sessions.reset(me, first.conversation.number);
    const second = await talk.submit("two");
    expect(second.session.id).not.toBe(first.session.id);
    await (await agent.asked()).say("second");
    expect([talk.isAnswering(first.session.id), talk.isAnswering(second.session.id)]).toEqual([true, true]);
    expect(await talk.stop()).toBe(true);
    expect(talk.isAnswering()).toBe(false);
    const answers = await Promise.all([first.answer, second.answer]);
    expect(answers.map((answer) => answer?.origin?.interrupted)).toEqual([true, true]);
  });

  it("by a shutdown leaves pending messages to the next start, and no caller waits", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk, runner } = await talkIn(home, agent);
    const first = await talk.submit("one");
    await (await agent.asked()).say("Once");
    const second = await talk.submit("two");
    await talk.close();
    await home.store.runners.retire({ runner });
    expect(await first.answer).toMatchObject({ parts: [textPart("Once")], origin: { interrupted: true } });
    expect(await second.answer).toBeUndefined();
    expect(await readTexts(home, first.session.id)).toEqual(["one", "Once"]);
    const { talk: later } = await talkIn(home, script({ answers: [{ to: "two", say: "2" }] }));
    expect((await later.recover()).map(({ text: answer }) => answer)).toEqual(["2"]);
    expect(await readTexts(home, first.session.id)).toEqual(["one", "Once", "two", "2"]);
  });
});

describe("two processes in one conversation", () => {
  it("answer each message once, one at a time, each process its own", async () => {
    const home = await openHome();
    const homes = [home, await home.again()];
    const talks = [];
    for (const each of homes) talks.push(await talkIn(each, echo));
    const lines = talks.flatMap(({ ask }, who) =>
      Array.from({ length: 10 }, (_, line) => ({ ask, words: `${who}.${line}` })),
    );
    const answers = await Promise.all(lines.map(({ ask, words }) => ask(words)));
    answers.forEach((answer, at) => {
      expect(answer).toMatch(new RegExp(`^You said: ${lines[at]?.words}( |$)`));
    });
    const { session } = (await talks[0]?.talk.findCurrent()) ?? {};
    const messages = (await home.sessions.messages(me, session?.id ?? "")) ?? [];
    expect(messages.map(({ role }) => role)).toEqual(
      messages.map((_, at) => (at % 2 === 0 ? "user" : "assistant")),
    );
    expect(messages).toHaveLength(40);
  });

  it("that may exit at any moment leave pending messages to the processes that sent them", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent, { takesNext: false });
    const first = await talk.submit("one");
    const held = await agent.asked();
    const { talk: other } = await talkIn(await home.again(), echo);
    const second = await other.submit("two");
    held.end();
    await first.answer;
    expect(await second.answer).toMatchObject({ parts: [textPart("You said: two (before that: one)")] });
  });

  it("do not interrupt each other's answers: the process that waits for an answer continues the turn when the other exits", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const leaving = await talkIn(home, agent);
    const first = await leaving.talk.submit("one");
    const held = await agent.asked();
    const { talk: other } = await talkIn(await home.again(), echo);
    const second = await other.submit("two");
    held.end();
    await first.answer;
    // It has claimed the message of the other chat, and closes.
    await (await agent.asked()).say("Onc");
    await leaving.talk.close();
    await home.store.runners.retire({ runner: leaving.runner });
    expect(await second.answer).toMatchObject({ parts: [textPart("You said: two (before that: one)")] });
    expect(await readTexts(home, first.session.id)).toEqual([
      "one",
      "",
      "two",
      "You said: two (before that: one)",
    ]);
    expect(leaving.events.some(({ type }) => type === "turn_failed")).toBe(false);
  });

  it("wait for each other without disk access", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const first = await talk.submit("one");
    const held = await agent.asked();
    const other = await home.again();
    const { talk: waiting, ask } = await talkIn(other, echo);
    let changes = 0;
    other.store.onChange(() => {
      changes += 1;
    });
    const second = ask("two");
    await new Promise<void>((resolve) => {
      const stop = home.store.onChange(() => {
        stop();
        resolve(); // the message has arrived
      });
    });
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    expect(changes).toBeLessThan(5);
    held.end();
    await first.answer;
    // The process that ends a turn claims the next pending message, whoever sent it.
    const next = await agent.asked();
    await next.say("from the first");
    next.end();
    expect(await second).toBe("from the first");
    expect(waiting.isAnswering()).toBe(false);
  });
});

describe("after a crash", () => {
  it("a message that a crashed process accepted is answered once", async () => {
    const home = await openHome();
    const { session } = await acceptAndCrash(home, "begun");
    await acceptAndCrash(home, "waiting");
    const { talk, events } = await talkIn(home, echo);
    const ends = await talk.recover();
    expect(ends.map((end) => end.text)).toEqual([
      "You said: begun",
      "You said: waiting (before that: begun)",
    ]);
    expect(await readTexts(home, session.id)).toHaveLength(4);
    const steps = events.flatMap(({ type }) => (type === "text" ? [] : [type]));
    expect(steps).toEqual(["started", "ended", "started", "ended"]);
    expect(await talk.recover()).toEqual([]);
  });

  it("a turn that a crashed process left runs with the same prompt, tools and compression as any other", async () => {
    const home = await openHome();
    await acceptAndCrash(home, "begun");
    await acceptAndCrash(home, "waiting");
    const agent = heldAgent();
    const tool: Tool = {
      name: "look",
      description: "Looks.",
      input: {},
      effect: "none",
      run: async () => ({ parts: [] }),
    };
    const noticed: number[] = [];
    const { talk } = await talkIn(home, agent, {
      hooks: (turn) => ({
        prepare: async () => ({ prompt: `Turn ${turn.number}.`, cwd: "/srv", tools: [tool] }),
        approve: async () => "once",
        compression: { at: 0.5, notify: async () => {} },
        onEnd: () => void noticed.push(turn.number),
      }),
    });
    const recovered = talk.recover();
    for (const number of [1, 2]) {
      const held = await agent.asked();
      expect(held.turn).toMatchObject({ prompt: `Turn ${number}.`, cwd: "/srv", tools: [tool] });
      expect(talk.isAnswering()).toBe(true);
      held.end();
    }
    expect(await recovered).toHaveLength(2);
    expect(noticed).toEqual([1, 2]);
  });

  it("the model gets the note of a new session with the recovered turn, and the person gets the notice with their next message", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk, ask } = await talkIn(home, agent);
    const before = ask("before");
    (await agent.asked()).end();
    await before;
    home.clock.pass(2 * DAY);
    await acceptAndCrash(home, "begun", localSource(), DEFAULT_RESET_POLICY);
    const recovered = talk.recover();
    const held = await agent.asked();
    expect(held.turn.note).toContain("no activity");
    held.end();
    await recovered;
    expect((await talk.submit("next")).fresh).toMatchObject({ noteDue: false, noticeDue: true });
  });

  it("the answer of a recovered turn can be stopped like any other", async () => {
    const home = await openHome();
    const { session } = await acceptAndCrash(home, "begun");
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const recovered = talk.recover();
    await (await agent.asked()).say("Once");
    expect(await talk.stop()).toBe(true);
    expect((await recovered).map(({ outcome }) => outcome)).toEqual(["interrupted"]);
    expect(await readTexts(home, session.id)).toEqual(["begun", "Once"]);
  });

  it("a message of another platform is left to a process that can deliver there", async () => {
    const home = await openHome();
    const elsewhere = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7" };
    const { session } = await acceptAndCrash(home, "from afar", elsewhere);
    const { talk } = await talkIn(home, echo);
    expect(await talk.recover()).toEqual([]);
    const shown = await home.store.messages.listMessages({ asker: { everyone: true }, session: session.id });
    expect(shown?.map(getText)).toEqual(["from afar"]);
    expect(await home.store.turns.listClaimable({ now: home.clock.now() })).toEqual([
      { session: session.id, platform: "telegram" },
    ]);
  });

  it("a message of a messenger in the same session is answered in the messenger, in its draft", async () => {
    const home = await openHome();
    const { store, clock } = home;
    const phone = { platform: "telegram", chatType: "dm", chatId: "7", userId: "7" };
    await store.access.linkAccount({
      account: { platform: "telegram", userId: "7" },
      person: OWNER,
      now: clock.now(),
    });
    const { session, turn } = await acceptAndCrash(home, "from afar", phone);
    if (turn === undefined) throw new Error("the session was not free");
    const { number, fence } = turn;
    const draft = throwIfRefused(
      await store.outbox.beginDraft({ turn: number, fence, target: phone, now: clock.now() }),
    );
    await store.outbox.recordDraftOutcome({ delivery: draft.number, shown: { messageId: "12" } });

    const { talk, ask } = await talkIn(home, echo);
    const { conversation } = await talk.open();
    await home.sessions.switchTo(me, conversation.number, session.id);
    expect(await ask("and here")).toBe("You said: and here (before that: from afar)");
    expect(await store.outbox.listPendingDeliveries({ dueAt: clock.now(), limit: 9 })).toMatchObject([
      {
        number: draft.number,
        target: phone,
        parts: [textPart("You said: from afar")],
        status: { state: "waiting", shown: { messageId: "12" } },
      },
    ]);
  });

  it("a turn of a running process is left to that process", async () => {
    const home = await openHome();
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const first = await talk.submit("one");
    const held = await agent.asked();
    const { talk: other } = await talkIn(await home.again(), echo);
    expect(await other.recover()).toEqual([]);
    held.end();
    await first.answer;
    expect(await readTexts(home, first.session.id)).toEqual(["one", ""]);
  });

  it("the next message first recovers the turn before it", async () => {
    const home = await openHome();
    const { session } = await acceptAndCrash(home, "begun");
    const { ask } = await talkIn(home, echo);
    expect(await ask("and now?")).toBe("You said: and now? (before that: begun)");
    expect((await readTexts(home, session.id)).filter((_, at) => at % 2 === 0)).toEqual([
      "begun",
      "and now?",
    ]);
  });

  it("a recovered turn ends when the chat closes, and keeps the part of the answer that arrived", async () => {
    const home = await openHome();
    const { session } = await acceptAndCrash(home, "begun");
    await acceptAndCrash(home, "waiting");
    const agent = heldAgent();
    const { talk } = await talkIn(home, agent);
    const recovered = talk.recover();
    await (await agent.asked()).say("Once");
    await talk.close();
    expect((await recovered).map(({ outcome }) => outcome)).toEqual(["interrupted"]);
    expect(await readTexts(home, session.id)).toEqual(["begun", "Once"]);
  });

  it("a turn whose end the full disk refused runs again with the next message", async () => {
    const home = await openHome();
    const { ask, talk } = await talkIn(home, echo);
    await ask("one");
    const db = new Database(home.file);
    db.exec("create trigger full before update on turns begin select raise(abort, 'no room'); end");
    await expect(ask("two")).rejects.toThrow("no room");
    expect(talk.isAnswering()).toBe(false);
    db.exec("drop trigger full");
    db.close();
    expect(await ask("three")).toBe("You said: three (before that: two)");
    const { session } = (await talk.findCurrent()) ?? {};
    expect((await readTexts(home, session?.id ?? "")).filter((_, at) => at % 2 === 0)).toEqual([
      "one",
      "two",
      "three",
    ]);
    expect(look(home.file, (rows) => rows.prepare("select state from turns").pluck().all())).toEqual([
      "done",
      "done",
      "done",
    ]);
  });
});

describe("findCurrent", () => {
  it("finds and creates nothing in a chat without messages", async () => {
    const home = await openHome();
    const { talk } = await talkIn(home, echo);
    expect(await talk.findCurrent()).toBeUndefined();
    expect(rowsIn(home.file)).toMatchObject({ sessions: [], conversations: [], messages: [] });
  });

  it("changes nothing, also when the reset policy would start a new session", async () => {
    const home = await openHome();
    const { talk, ask } = await talkIn(home, echo);
    await ask("hello");
    home.clock.pass(3 * DAY);
    await indexed(home.file);
    const before = rowsIn(home.file);
    const seen = await talk.findCurrent();
    expect(seen?.session.messageCount).toBe(2);
    expect(rowsIn(home.file)).toEqual(before);
    expect((await talk.open()).session.id).not.toBe(seen?.session.id);
  });
});
