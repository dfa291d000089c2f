import assert from "node:assert/strict";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  assistant,
  BOB,
  EVERYONE,
  HOUR,
  inGroup,
  readTexts,
  requireValue,
  SCOPE_SHARED,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const ONE = { runner: "r1", take: "one" } as const;
const ALL = { runner: "r1", take: "all" } as const;

/** Messages are accepted once, in order, and run one turn at a time. */
export function defineTurnRules({ describe }: TestApi, rule: StoreRule): void {
  describe("accepting a message", () => {
    rule("stores a message once, even if it arrives several times", async (scene) => {
      const { accept, take, store } = scene;
      const first = await take(ANN, "hello", { messageId: "7" });
      const again = await accept(ANN, "hello", { messageId: "7", now: T0 + HOUR });
      assert.deepEqual(again, { duplicate: true, inbox: first.inbox });
      await scene.reopen();
      const late = await scene.accept(ANN, "hello", { messageId: "7", now: T0 + 2 * HOUR, claim: ONE });
      assert.deepEqual(late, { duplicate: true, inbox: first.inbox });
      const [conversation] = await scene.store.conversations.findConversations({
        asker: EVERYONE,
        source: ANN,
      });
      assert.equal(conversation?.activeAt, T0, "a duplicate is no activity");
      const turn = requireValue(await scene.claim(first.session.id));
      assert.equal(turn.inputs.length, 1);
      await scene.finish(turn, "hi");
      const done = await scene.accept(ANN, "hello", { messageId: "7", claim: ONE });
      assert.equal(done.duplicate, true);
      assert.deepEqual(await scene.shows(turn.session), ["hello", "hi"]);
      assert.ok(store !== scene.store);
    });

    rule(
      "stores it once when two gateways receive it concurrently",
      async ({ accept, store, shows, beat }) => {
        await beat("r1");
        const both = await Promise.all(
          [1, 2, 3, 4].map(() => accept(ANN, "hello", { messageId: "7", claim: ONE })),
        );
        const taken = both.flatMap((it) => ("session" in it ? [it] : []));
        assert.equal(taken.length, 1);
        assert.deepEqual(await shows(requireValue(taken[0]).session.id), ["hello"]);
        assert.equal((await store.sessions.getStats({ asker: EVERYONE })).messages, 1);
      },
    );

    rule("does not treat the same id in another chat or platform as a duplicate", async ({ accept }) => {
      for (const source of [ANN, BOB, { ...ANN, platform: "signal" }, inGroup("ann")]) {
        assert.equal((await accept(source, "hello", { messageId: "7" })).duplicate, false);
      }
    });

    rule("stores the same message once for each profile of a home", async ({ accept }) => {
      for (const profile of ["main", "second"]) {
        const message = { messageId: "7", profile };
        assert.equal((await accept(ANN, "hello", message)).duplicate, false, profile);
        assert.equal((await accept(ANN, "hello", message)).duplicate, true, profile);
      }
    });

    rule("stores the platform's cursor in the same commit, also for a duplicate", async (scene) => {
      const { accept } = scene;
      const at = (value: string) => ({ cursor: { name: "telegram", value } });
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), undefined);
      await accept(ANN, "hello", { messageId: "7", ...at("100") });
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), "100");
      await accept(ANN, "hello", { messageId: "7", ...at("101") });
      await scene.reopen();
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), "101");
      assert.equal(await scene.store.inbox.getCursor({ name: "discord" }), undefined);
    });

    rule("stores several messages in order in one commit; the first starts the turn", async (scene) => {
      await scene.beat("r1");
      const many = (words: readonly string[], claim = ONE) =>
        scene.store.inbox.acceptMany({
          messages: words.map((each) => ({
            ...scene.routing(ANN),
            messageId: each,
            message: user(each),
            maxPending: 2,
            claim,
            cursor: { name: "telegram", value: each },
          })),
        });
      const [first, again, second, third, fourth] = await many(["1", "1", "2", "3", "4"]);
      assert.ok(first !== undefined && "turn" in first);
      assert.equal(requireValue(first.turn).inputs.length, 1);
      assert.deepEqual(again, { duplicate: true, inbox: first.inbox });
      for (const taken of [second, third]) assert.equal(requireValue(taken).duplicate, false);
      assert.ok(fourth !== undefined && "isFirst" in fourth);
      assert.deepEqual([fourth.tooMany, fourth.isFirst], [2, true]);
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), "4");
      const next = requireValue((await scene.finish(requireValue(first.turn), "hi", { next: ALL })).next);
      assert.deepEqual(await scene.shows(next.session), ["1", "hi", "2", "3"]);
    });

    rule("stores none of several messages if one of them cannot be stored", async (scene) => {
      const message = (messageId: string) => ({ ...scene.routing(ANN), messageId, message: user("hello") });
      const broken = { messages: [message("1"), message(""), message("2")] };
      await assertRejects(scene.store.inbox.acceptMany(broken), "invalid_input");
      assert.deepEqual(
        await scene.store.conversations.findConversations({ asker: EVERYONE, source: ANN }),
        [],
      );
      assert.equal((await scene.accept(ANN, "hello", { messageId: "1" })).duplicate, false);
    });

    rule("moves a cursor without a message", async (scene) => {
      await scene.store.inbox.moveCursor({ cursor: { name: "telegram", value: "7" }, now: T0 });
      await scene.reopen();
      assert.equal(await scene.store.inbox.getCursor({ name: "telegram" }), "7");
    });

    rule("starts the turn at once if the session is free", async ({ beat, take, shows, get }) => {
      await beat("r1");
      const taken = await take(ANN, "hello", { claim: { ...ONE, deadline: T0 + HOUR } });
      const turn = requireValue(taken.turn);
      assert.equal(turn.session, taken.session.id);
      assert.equal(turn.conversation, taken.conversation.number);
      assert.equal(turn.attempt, 1);
      assert.deepEqual(turn.target, ANN);
      assert.deepEqual(turn.inputs, [1]);
      assert.deepEqual(await shows(turn.session), ["hello"]);
      assert.deepEqual(await get(turn.session), taken.session);
      assert.equal(taken.session.messageCount, 1);
      assert.equal(taken.session.humanCount, 1);
      assert.equal(taken.conversation.activeAt, T0);
    });

    rule(
      "keeps a pending message out of the session until its turn",
      async ({ take, shows, claim, store }) => {
        const { session } = await take(ANN, "hello", { now: T0 + 5 });
        assert.deepEqual(await shows(session.id), []);
        assert.deepEqual(await store.turns.listClaimable({ now: T0 }), [
          { session: session.id, platform: "telegram" },
        ]);
        const turn = requireValue(await claim(session.id, "r1", T0 + 10));
        const [message] = requireValue(
          await store.messages.readHistory({ asker: EVERYONE, session: session.id }),
        );
        assert.equal(message?.at, T0 + 5, "it has the time of its arrival");
        assert.deepEqual(turn.inputs, [1]);
      },
    );

    rule("refuses a message whose bytes are missing", async ({ accept, store }) => {
      const message = user("see", {
        parts: [{ type: "image", blob: "ab".repeat(32), mimeType: "image/png", size: 3 }],
      });
      await assert.rejects(accept(ANN, "", { message, messageId: "7" }), { code: "invalid_input" });
      await assert.rejects(accept(ANN, "", { message, messageId: "7", claim: ONE }), {
        code: "invalid_input",
      });
      assert.equal((await store.sessions.getStats({ asker: EVERYONE })).sessions, 0);
      assert.equal((await accept(ANN, "well", { messageId: "7" })).duplicate, false);
    });
  });

  describe("one turn per session at a time", () => {
    rule("queues messages in order, and claims them when the turn ends", async (scene) => {
      const { begin, take, finish, shows } = scene;
      const turn = await begin(ANN, "one");
      for (const words of ["two", "three"]) {
        assert.equal((await take(ANN, words, { claim: ONE })).turn, undefined);
      }
      assert.deepEqual(await shows(turn.session), ["one"]);
      const second = requireValue((await finish(turn, "first answer", { next: ONE })).next);
      assert.deepEqual(await shows(turn.session), ["one", "first answer", "two"]);
      assert.deepEqual(second.inputs, [3]);
      assert.ok(second.fence > turn.fence);
      const third = requireValue((await finish(second, "second answer", { next: ONE })).next);
      assert.deepEqual(await shows(turn.session), ["one", "first answer", "two", "second answer", "three"]);
      assert.equal((await finish(third, "third answer", { next: ONE })).next, undefined);
    });

    rule(
      "can take all pending messages of a conversation into one turn",
      async ({ begin, take, finish, shows }) => {
        const turn = await begin(ANN, "one");
        for (const words of ["two", "three", "four"]) await take(ANN, words, { claim: ONE });
        const next = requireValue((await finish(turn, "", { next: ALL })).next);
        assert.equal(next.inputs.length, 3);
        assert.deepEqual(await shows(turn.session), ["one", "two", "three", "four"]);
      },
    );

    rule("answers in the chat of the last message that it took", async ({ begin, take, finish }) => {
      const turn = await begin(inGroup("ann"), "one", { scope: SCOPE_SHARED });
      await take(inGroup("ann"), "two", { scope: SCOPE_SHARED });
      await take(inGroup("bob"), "three", { scope: SCOPE_SHARED });
      const next = requireValue((await finish(turn, "", { next: ALL })).next);
      assert.deepEqual(next.target, inGroup("bob"));
    });

    rule(
      "never mixes two conversations of one session in a turn",
      async ({ begin, open, take, finish, store, get }) => {
        const turn = await begin(ANN, "one", { person: "p_ann" });
        const signal = { ...ANN, platform: "signal" };
        const { conversation } = await open(signal, { person: "p_ann" });
        const asker = { person: (await get(turn.session)).owner };
        throwIfRefused(
          await store.conversations.switchTo({
            asker,
            session: turn.session,
            conversation: conversation.number,
            now: T0,
          }),
        );
        await take(ANN, "two", { claim: ONE });
        await take(signal, "three", { claim: ONE });
        await take(ANN, "four", { claim: ONE });
        const next = requireValue((await finish(turn, "", { next: ALL })).next);
        assert.deepEqual([next.inputs.length, next.target.platform], [2, "telegram"]);
        const last = requireValue((await finish(next, "", { next: ALL })).next);
        assert.deepEqual([last.inputs.length, last.target.platform], [1, "signal"]);
      },
    );

    rule(
      "keeps the order if the session is free but messages are pending",
      async ({ take, beat, claim, shows }) => {
        await take(ANN, "one");
        await beat("r1");
        const second = await take(ANN, "two", { claim: ONE });
        assert.equal(second.turn, undefined);
        await claim(second.session.id);
        assert.deepEqual(await shows(second.session.id), ["one"]);
      },
    );

    rule("leaves the next message to a later claim, if the finish claims none", async (scene) => {
      const { begin, take, finish, claim, store } = scene;
      const turn = await begin(ANN, "one");
      await take(ANN, "two", { claim: ONE });
      assert.equal((await finish(turn, "answer")).next, undefined);
      assert.deepEqual(await store.turns.listClaimable({ now: T0 }), [], "its runner is responsible for it");
      await store.runners.retire({ runner: ONE.runner });
      assert.deepEqual(await store.turns.listClaimable({ now: T0 }), [
        { session: turn.session, platform: "telegram" },
      ]);
      assert.deepEqual(requireValue(await claim(turn.session, "r2")).inputs, [3]);
      assert.equal(await claim(turn.session, "r3"), undefined);
    });

    rule("returns no turn if nothing is pending", async ({ claim, talk, store }) => {
      const { id } = await talk(ANN, "hello", "hi");
      assert.equal(await claim(id), undefined);
      assert.equal(await claim("nobody"), undefined);
      assert.deepEqual(await store.turns.listClaimable({ now: T0 }), []);
    });

    rule("gives the turn to one of several concurrent claims", async ({ take, beat, store }) => {
      const { session } = await take(ANN, "hello");
      const runners = ["r1", "r2", "r3", "r4", "r5"];
      for (const id of runners) await beat(id);
      const turns = await Promise.all(
        runners.map((id) => store.turns.claim({ session: session.id, runner: id, take: "one", now: T0 })),
      );
      assert.equal(turns.filter((turn) => turn !== undefined).length, 1);
    });

    rule("adds pending input to the session that is current when its turn starts", async (scene) => {
      const { take, claim, shows, store } = scene;
      const { session, conversation } = await take(ANN, "hello");
      const newSession = { id: "next", kind: "chat" as const };
      const asker = { person: session.owner };
      throwIfRefused(
        await store.conversations.reset({ asker, conversation: conversation.number, newSession, now: T0 }),
      );
      assert.equal(await claim(session.id), undefined);
      assert.equal(requireValue(await claim("next")).session, "next");
      assert.deepEqual(await shows("next"), ["hello"]);
      assert.deepEqual(await shows(session.id), []);
    });

    rule("answers in the chat of the message, even if the conversation switches meanwhile", async (scene) => {
      const { begin, finish, store, get, claim } = scene;
      const turn = await begin(ANN, "hello");
      const asker = { person: (await get(turn.session)).owner };
      const newSession = { id: "next", kind: "chat" as const };
      throwIfRefused(
        await store.conversations.reset({ asker, conversation: turn.conversation, newSession, now: T0 }),
      );
      await store.runners.retire({ runner: "r1" });
      const again = requireValue(await claim(turn.session, "r2"));
      assert.deepEqual(again.target, ANN);
      assert.equal(again.session, turn.session);
      await finish(again, "hi");
      assert.deepEqual(await scene.shows(turn.session), ["hello", "hi"]);
      assert.deepEqual(await scene.shows("next"), []);
    });

    rule("cancels and returns the pending messages of a conversation, and never runs them", async (scene) => {
      const { begin, take, finish, accept, store } = scene;
      const turn = await begin(ANN, "one");
      await take(ANN, "two", { messageId: "7" });
      await take(ANN, "three");
      await take(BOB, "other");
      const cancelled = await store.inbox.cancelPending({ conversation: turn.conversation, now: T0 });
      assert.deepEqual(cancelled, [user("two"), user("three")]);
      assert.deepEqual(await store.inbox.cancelPending({ conversation: turn.conversation, now: T0 }), []);
      assert.equal((await finish(turn, "answer", { next: ONE })).next, undefined);
      assert.equal((await accept(ANN, "two", { messageId: "7" })).duplicate, true);
      assert.equal((await store.turns.listClaimable({ now: T0 })).length, 1);
    });
  });

  describe("writes of a turn", () => {
    rule(
      "store the messages during the turn and at its end, in order",
      async ({ begin, finish, store, get }) => {
        const turn = await begin(ANN, "hello");
        const ask = { asker: EVERYONE, session: turn.session, fence: turn.fence };
        const call = assistant("", {
          parts: [],
          toolCalls: [{ id: "c1", name: "look", arguments: { at: "map" } }],
        });
        const middle = throwIfRefused(await store.messages.append({ ...ask, messages: [call], now: T0 + 1 }));
        assert.deepEqual(middle.seqs, [2]);
        const result = {
          role: "tool" as const,
          parts: [{ type: "text" as const, text: "north" }],
          toolCallId: "c1",
        };
        const finished = await finish(turn, "", {
          messages: [result, assistant("Go north.")],
          usage: { inputTokens: 10, outputTokens: 5, lastPromptTokens: 10, model: "m1" },
          now: T0 + 2,
        });
        assert.deepEqual(finished.seqs, [3, 4]);
        const session = await get(turn.session);
        assert.equal(session.usage.totalTokens, 15);
        assert.equal(session.usage.model, "m1");
        assert.equal(session.lastAt, T0 + 2);
        assert.deepEqual([session.messageCount, session.humanCount, session.toolCallCount], [4, 1, 1]);
      },
    );

    rule("are refused with an old fence, and store nothing", async (scene) => {
      const { begin, claim, finish } = scene;
      const old = await begin(ANN, "hello");
      await scene.store.runners.retire({ runner: "r1" });
      const current = requireValue(await claim(old.session, "r2"));
      await assertFenced(scene, old);
      await finish(current, "answer");
      await assertFenced(scene, current);
      assert.deepEqual(await scene.shows(old.session), ["hello", "answer"]);
      assert.equal((await scene.get(old.session)).usage.totalTokens, 0);
      assert.deepEqual(await scene.store.outbox.listPendingDeliveries({ dueAt: T0 + HOUR, limit: 10 }), []);
    });

    rule(
      "can change the view of its session, while others must wait",
      async ({ begin, tryReshape, shows }) => {
        const turn = await begin(ANN, "hello");
        assertRefused(await tryReshape(turn.session, { kind: "undo" }), "session_busy");
        const summary = assistant("In short: hello.");
        const done = await tryReshape(turn.session, {
          kind: "compress",
          summary,
          keepLast: 0,
          fence: turn.fence,
        });
        assert.ok(!isRefused(done));
        assert.deepEqual(await shows(turn.session), ["In short: hello."]);
      },
    );
  });
}

/** A holder of an old fence can change nothing. */
async function assertFenced({ store }: Scene, { session, number, fence }: Turn): Promise<void> {
  const ask = { asker: EVERYONE, session, fence };
  const messages = [assistant("too late")];
  assertRefused(await store.messages.append({ ...ask, messages, now: T0 }), "stale_fence");
  const said = { text: "too late", thought: "" };
  assertRefused(await store.turns.saveDraft({ turn: number, fence, answerDraft: said }), "stale_fence");
  assertRefused(
    await store.sessions.recordUsage({ ...ask, purpose: "answer", usage: { inputTokens: 1 }, now: T0 }),
    "stale_fence",
  );
  assertRefused(await store.messages.changeView({ ...ask, kind: "undo", now: T0 }), "stale_fence");
  const finish = await store.turns.finish({
    turn: number,
    fence,
    outcome: "done",
    messages,
    usage: { inputTokens: 1 },
    deliveries: [{ target: ANN, parts: [{ type: "text", text: "too late" }] }],
    now: T0,
  });
  assertRefused(finish, "stale_fence");
  assert.ok(!readTexts(await store.messages.listMessages({ asker: EVERYONE, session })).includes("too late"));
}
