import assert from "node:assert/strict";
import { throwIfRefused } from "../core/refusal.ts";
import {
  ANN,
  assistant,
  DAY,
  EVERYONE,
  HOUR,
  inGroup,
  MINUTE,
  requireValue,
  type Scene,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const STALE = { idleBefore: T0 + 1 };

/** Resets of conversations and their notifications. */
export function defineResetRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a reset by policy", () => {
    rule(
      "starts a new session after an idle time, and reports the previous one",
      async ({ talk, open, get, store }) => {
        const old = await talk(ANN, "hello", "hi");
        const opened = await open(ANN, { now: T0 + HOUR, reset: STALE });
        assert.notEqual(opened.session.id, old.id);
        assert.equal(opened.created, true);
        assert.deepEqual(opened.fresh, {
          reason: "idle",
          hadActivity: true,
          previous: { session: old.id, handle: old.handle },
          noteDue: true,
          noticeDue: true,
        });
        assert.equal(opened.conversation.activeAt, T0 + HOUR);
        const left = await get(old.id);
        assert.equal(left.endReason, "idle");
        assert.equal(left.endedAt, T0 + HOUR);
        const [decision] = await store.conversations.listDecisions({
          asker: EVERYONE,
          conversation: opened.conversation.number,
        });
        assert.deepEqual(decision, {
          at: T0 + HOUR,
          decision: "reset",
          reason: "idle",
          activeAt: T0,
          idleBefore: T0 + 1,
          from: old.id,
          to: opened.session.id,
        });
      },
    );

    rule("reports that the previous session had no messages", async ({ open }) => {
      await open(ANN);
      const opened = await open(ANN, { now: T0 + HOUR, reset: STALE });
      assert.equal(opened.fresh?.hadActivity, false);
    });

    rule("requires a notice only if it is enabled and the session had messages", async ({ talk, open }) => {
      const stale = { now: T0 + HOUR, reset: STALE };
      const due = async (source: typeof ANN, notify?: boolean) => {
        const { fresh } = await open(source, { ...stale, ...(notify !== undefined && { notify }) });
        return [fresh?.noteDue, fresh?.noticeDue];
      };
      for (const name of ["told", "not-told"]) await talk(inGroup(name), "hello", "hi");
      await open(inGroup("silent"));
      assert.deepEqual(await due(inGroup("told"), true), [true, true]);
      assert.deepEqual(await due(inGroup("not-told"), false), [true, false]);
      assert.deepEqual(await due(inGroup("silent")), [true, false]);
    });

    rule("starts a new session at the daily hour", async ({ talk, open, get }) => {
      const old = await talk(ANN, "hello", "hi");
      const opened = await open(ANN, { now: T0 + HOUR, reset: { dailyBefore: T0 + 1 } });
      assert.equal(opened.fresh?.reason, "daily");
      assert.equal((await get(old.id)).endReason, "daily");
    });

    rule("has the reason `idle` when both are due", async ({ talk, open }) => {
      await talk(ANN, "hello", "hi");
      const reset = { idleBefore: T0 + 1, dailyBefore: T0 + 2 };
      assert.equal((await open(ANN, { now: T0 + HOUR, reset })).fresh?.reason, "idle");
    });

    rule("does not happen for activity exactly at the boundary", async ({ talk, open }) => {
      const old = await talk(ANN, "hello", "hi");
      const reset = { idleBefore: T0, dailyBefore: T0 };
      const opened = await open(ANN, { now: T0 + HOUR, reset });
      assert.equal(opened.session.id, old.id);
      assert.equal(opened.fresh, undefined);
    });

    rule("never happens without a policy", async ({ talk, open }) => {
      const old = await talk(ANN, "hello", "hi");
      assert.equal((await open(ANN, { now: T0 + 3000 * DAY })).session.id, old.id);
    });

    rule("also happens when a message is accepted", async ({ talk, take, shows }) => {
      const old = await talk(ANN, "hello", "hi");
      const claim = { runner: "r1", take: "one" as const };
      const taken = await take(ANN, "again", { now: T0 + HOUR, reset: STALE, claim });
      assert.notEqual(taken.session.id, old.id);
      assert.equal(taken.fresh?.reason, "idle");
      assert.deepEqual(await shows(taken.session.id), ["again"]);
    });

    rule("does not happen during unfinished work, and the reason is recorded", async (scene) => {
      const { open, store } = scene;
      for (const [why, source, busy] of listBusyCases(scene)) {
        const session = await busy();
        const opened = await open(source, { now: T0 + HOUR, reset: STALE });
        assert.equal(opened.session.id, session);
        const [decision] = await store.conversations.listDecisions({
          asker: EVERYONE,
          conversation: opened.conversation.number,
        });
        assert.equal(decision?.decision, "kept_busy");
        assert.match(decision?.reason ?? "", why);
      }
    });

    rule("is not prevented by a hold that has expired or was released", async ({ talk, open, store }) => {
      const one = await talk(ANN, "hello", "hi");
      const ask = { asker: EVERYONE, session: one.id };
      throwIfRefused(await store.sessions.hold({ ...ask, name: "job", until: T0 + HOUR }));
      const two = await open(ANN, { now: T0 + HOUR, reset: STALE });
      assert.notEqual(two.session.id, one.id);
      const held = { asker: EVERYONE, session: two.session.id, name: "job" };
      throwIfRefused(await store.sessions.hold({ ...held, until: T0 + 9 * DAY }));
      assert.equal(await store.sessions.release(held), true);
      assert.equal(await store.sessions.release(held), false);
      const three = await open(ANN, { now: T0 + DAY, reset: { idleBefore: T0 + 2 * HOUR } });
      assert.notEqual(three.session.id, two.session.id);
    });

    rule("notifies the model and the person once each, even across a restart", async (scene) => {
      const { talk, open } = scene;
      await talk(ANN, "hello", "hi");
      const { fresh, conversation } = await open(ANN, { now: T0 + HOUR, reset: STALE });
      await scene.reopen();
      assert.deepEqual((await open(ANN, { now: T0 + HOUR })).fresh, fresh);
      await scene.store.conversations.markResetNotified({
        conversation: conversation.number,
        notified: { note: true },
      });
      await scene.reopen();
      const half = (await open(ANN, { now: T0 + HOUR })).fresh;
      assert.deepEqual(half, { ...requireValue(fresh), noteDue: false });
      await scene.store.conversations.markResetNotified({
        conversation: conversation.number,
        notified: { notice: true },
      });
      assert.equal((await open(ANN, { now: T0 + HOUR })).fresh, undefined);
    });

    rule(
      "can be marked as notified in the commit that ends the turn",
      async ({ talk, begin, finish, open }) => {
        await talk(ANN, "hello", "hi");
        const turn = await begin(ANN, "again", { now: T0 + HOUR, reset: STALE });
        await finish(turn, "good morning", { now: T0 + HOUR, notified: { note: true, notice: true } });
        assert.equal((await open(ANN, { now: T0 + HOUR })).fresh, undefined);
      },
    );
  });

  describe("a reset on request", () => {
    rule("starts a new session, without a notification", async ({ talk, open, get, shows, store }) => {
      const old = await talk(ANN, "hello", "hi");
      const opened = await open(ANN, { now: T0 + 1, fresh: true });
      assert.notEqual(opened.session.id, old.id);
      assert.equal(opened.fresh, undefined);
      assert.equal((await get(old.id)).endReason, "new");
      assert.deepEqual(await shows(old.id), ["hello", "hi"]);
      const asker = { person: opened.session.owner };
      const conversation = opened.conversation.number;
      const newSession = { id: "wished", kind: "chat" as const };
      const reset = throwIfRefused(
        await store.conversations.reset({ asker, conversation, newSession, now: T0 + 2 }),
      );
      assert.equal(reset.session.id, "wished");
      assert.deepEqual(reset.session.origin, opened.session.origin);
      assert.equal(reset.conversation.activeAt, T0 + 2);
      assert.equal((await get(opened.session.id)).endReason, "new");
    });

    rule("drops pending notifications of an older reset", async ({ talk, open }) => {
      await talk(ANN, "hello", "hi");
      await open(ANN, { now: T0 + HOUR, reset: STALE });
      const opened = await open(ANN, { now: T0 + HOUR + 1, fresh: true });
      assert.equal(opened.fresh, undefined);
    });

    rule(
      "ends a session only when the last conversation leaves it, and opens it again on return",
      async ({ open, get, store }) => {
        const here = await open(ANN, { person: "p_ann" });
        const there = await open({ ...ANN, platform: "signal" }, { person: "p_ann" });
        const asker = { person: "p_ann" };
        const session = here.session.id;
        throwIfRefused(
          await store.conversations.switchTo({
            asker,
            session,
            conversation: there.conversation.number,
            now: T0 + 1,
          }),
        );
        const left = await get(there.session.id);
        assert.equal(left.endReason, "switch");
        assert.equal(left.endedAt, T0 + 1);
        await open(ANN, { now: T0 + 2, fresh: true, person: "p_ann" });
        assert.equal((await get(session)).endedAt, undefined);
        await open({ ...ANN, platform: "signal" }, { now: T0 + 3, fresh: true, person: "p_ann" });
        assert.equal((await get(session)).endReason, "new");
        const back = throwIfRefused(
          await store.conversations.switchTo({
            asker,
            session,
            conversation: here.conversation.number,
            now: T0 + 4,
          }),
        );
        assert.equal(back.session.endedAt, undefined);
        assert.equal(back.session.endReason, undefined);
      },
    );
  });

  describe("the activity time", () => {
    rule("is changed by people only", async (scene) => {
      const { open, talk, say, store } = scene;
      const later = T0 + HOUR;
      const session = await talk(ANN, "hello there", "hi");
      const [conversation] = await store.conversations.findConversations({
        asker: EVERYONE,
        session: session.id,
      });
      const number = requireValue(conversation).number;
      const asker = { person: session.owner };
      const ask = { asker, session: session.id };
      const newSession = { id: "fork", kind: "chat" as const };
      await store.sessions.getSession(ask);
      await store.sessions.find({ asker, text: session.id });
      await store.sessions.findByTitle({ asker, title: "x" });
      await store.conversations.findConversations({ asker, source: ANN });
      await store.messages.readHistory(ask);
      await store.messages.listMessages(ask);
      await store.messages.getViewRanges(ask);
      await store.messages.listVersions(ask);
      await store.conversations.listDecisions({ asker, conversation: number });
      await store.sessions.querySessions({ asker });
      await store.messages.searchMessages({ asker, text: "hello" });
      await store.sessions.hasOther(ask);
      await store.sessions.getStats({ asker });
      throwIfRefused(await store.sessions.setTitle({ ...ask, title: "Greetings" }));
      throwIfRefused(
        await store.sessions.recordUsage({ ...ask, purpose: "answer", usage: { inputTokens: 1 }, now: T0 }),
      );
      throwIfRefused(await store.sessions.hold({ ...ask, name: "x", until: later }));
      throwIfRefused(
        await store.sessions.change({ ...ask, change: { model: "m", archived: true }, now: later }),
      );
      throwIfRefused(
        await store.messages.append({ ...ask, messages: [assistant("by the way")], now: later }),
      );
      throwIfRefused(await store.sessions.fork({ ...ask, newSession, now: later }));
      throwIfRefused(await store.messages.changeView({ ...ask, kind: "undo", now: later }));
      await say(session.id, assistant("later", { at: later }));
      const opened = await open(ANN, { now: later });
      assert.deepEqual([opened.session.id, opened.conversation.activeAt], [session.id, T0]);
      await store.messages.append({ ...ask, messages: [user("and you?")], now: later });
      assert.equal((await open(ANN, { now: later })).conversation.activeAt, later);
    });

    rule(
      "changes when a message is accepted, when its turn ends and when a person switches",
      async (scene) => {
        const { begin, finish, create, store } = scene;
        const activeAt = async (): Promise<number | undefined> =>
          (await store.conversations.findConversations({ asker: EVERYONE, source: ANN }))[0]?.activeAt;
        const turn = await begin(ANN, "hello", { now: T0 + 1 });
        assert.equal(await activeAt(), T0 + 1);
        await finish(turn, "hi", { now: T0 + 2 });
        assert.equal(await activeAt(), T0 + 2);
        const owner = (await scene.get(turn.session)).owner;
        const other = await create(owner, ["old"]);
        const asker = { person: owner };
        throwIfRefused(
          await store.conversations.switchTo({
            asker,
            session: other.id,
            conversation: turn.conversation,
            now: T0 + MINUTE,
          }),
        );
        assert.equal(await activeAt(), T0 + MINUTE);
      },
    );

    rule("never decreases", async ({ open, take }) => {
      await take(ANN, "hello", { now: T0 + HOUR });
      await take(ANN, "from a slower clock", { now: T0 });
      assert.equal((await open(ANN, { now: T0 })).conversation.activeAt, T0 + HOUR);
    });
  });
}

/** Each kind of unfinished work, with its name in the decision. */
function listBusyCases({
  begin,
  take,
  talk,
  store,
}: Scene): [RegExp, ReturnType<typeof inGroup>, () => Promise<string>][] {
  const [runs, waits, held] = [inGroup("runs"), inGroup("waits"), inGroup("held")];
  return [
    [/a turn runs/, runs, async () => (await begin(runs, "one")).session],
    [/input waits/, waits, async () => (await take(waits, "one", { message: user("one") })).session.id],
    [
      /a hold/,
      held,
      async () => {
        const { id } = await talk(held, "hello", "hi");
        throwIfRefused(
          await store.sessions.hold({ asker: EVERYONE, session: id, name: "job", until: T0 + DAY }),
        );
        return id;
      },
    ],
  ];
}
