import { describe, expect, it } from "vitest";
import { DAY, fakeClock, HOUR, MINUTE, openHome, START } from "../../test/support/test-home.ts";
import { buildIdentity } from "../core/identity.ts";
import { sessionKey } from "../core/key.ts";
import { getChatAudience, OWNER } from "../core/owner.ts";
import { DEFAULT_RESET_POLICY, NO_RESET, type ResetPolicy } from "../core/reset-policy.ts";
import { localSource, type SourceInput, source } from "../core/source.ts";
import { createSessions } from "./sessions.ts";

const everyone = { everyone: true } as const;
const PER_USER = { groupsPerUser: true, threadsPerUser: true };

function policy(change: Partial<ResetPolicy>): { readonly policy: ResetPolicy } {
  return { policy: { ...DEFAULT_RESET_POLICY, ...change } };
}

const dm = (chatId: string | number): SourceInput => ({ platform: "telegram", chatId, userId: chatId });
const group = (userId: string, more: Partial<SourceInput> = {}): SourceInput => ({
  platform: "discord",
  chatId: "guild-123",
  chatType: "group",
  userId,
  ...more,
});

describe("the source of a message", () => {
  it("is stored with the session, with every field, also after a restart", async () => {
    const home = await openHome();
    const from = {
      platform: "telegram",
      chatId: "12345",
      chatName: "My Group",
      chatType: "group",
      userId: "99",
      userName: "alice",
      threadId: "t1",
      chatTopic: "Deployments",
      userIdAlt: "uuid-99",
      chatIdAlt: "internal-1",
    };
    const { session } = await home.sessions.open(from);
    expect(session.origin).toEqual(from);
    expect(session.displayName).toBe("My Group");
    const later = await home.restart();
    expect((await later.sessions.get(everyone, session.id))?.origin).toEqual(from);
  });

  it("can contain numbers and nulls; the default is a direct chat", async () => {
    const { sessions } = await openHome();
    const { session } = await sessions.open({ platform: "telegram", chatId: 12345, userName: null });
    expect(session.origin).toEqual({ platform: "telegram", chatId: "12345", chatType: "dm" });
    const again = await sessions.open({ platform: "telegram", chatId: "12345" });
    expect(again.session.id).toBe(session.id);
  });

  it("is refused without a chat, or with an invalid platform name; the error names the field", async () => {
    const { sessions } = await openHome();
    await expect(sessions.open({ platform: "telegram", chatId: "" })).rejects.toMatchObject({
      code: "invalid_input",
      details: { field: "chatId" },
    });
    await expect(sessions.open({ platform: "No Such", chatId: "1" })).rejects.toMatchObject({
      code: "invalid_input",
      details: { field: "platform" },
    });
    expect(await sessions.stats(everyone)).toMatchObject({ sessions: 0 });
  });

  it("gets the chat's newest name", async () => {
    const { sessions } = await openHome();
    await sessions.open(group("alice", { chatName: "Old" }));
    const { session } = await sessions.open(group("alice", { chatName: "New" }));
    expect(session.displayName).toBe("New");
    expect(session.origin?.chatName).toBe("New");
  });
});

describe("the scope of a conversation", () => {
  it("has the key of the key function", async () => {
    const { sessions } = await openHome();
    for (const from of [
      dm(99),
      group("alice"),
      { platform: "whatsapp", chatId: "15551234567@s.whatsapp.net" },
      { platform: "telegram", chatId: "-1002285219667", chatType: "group", threadId: 17585, userId: 42 },
      { platform: "signal", chatId: "group:abc", chatType: "group", userId: "+1", userIdAlt: "uuid-1" },
      localSource(),
    ]) {
      const { conversation } = await sessions.open(from);
      expect(conversation.key).toBe(sessionKey(buildIdentity(source(from), PER_USER)));
    }
  });

  it("gives each person in a group a separate session", async () => {
    const { sessions } = await openHome();
    const alice = await sessions.open(group("alice"));
    const bob = await sessions.open(group("bob"));
    expect(alice.conversation.key).toBe("agent:main:discord:group:guild-123:alice");
    expect(bob.conversation.key).toBe("agent:main:discord:group:guild-123:bob");
    expect(bob.session.id).not.toBe(alice.session.id);
    expect((await sessions.open(group("alice"))).session.id).toBe(alice.session.id);
  });

  it("can be the whole group, and the session then belongs to the chat", async () => {
    const { sessions } = await openHome({ scope: { groupsPerUser: false } });
    const alice = await sessions.open(group("alice"));
    const bob = await sessions.open(group("bob"));
    expect(bob.conversation.key).toBe("agent:main:discord:group:guild-123");
    expect(bob.conversation.key).toBe(alice.conversation.key);
    expect(bob.session.id).toBe(alice.session.id);
    expect(bob.session.owner).toBe("chat:discord:guild-123");
  });

  it("can be set for one platform, and for threads only", async () => {
    const { sessions } = await openHome({
      scope: { threadsPerUser: false, byPlatform: { slack: { groupsPerUser: false } } },
    });
    const slack = (userId: string): SourceInput => ({
      platform: "slack",
      chatId: "C1",
      chatType: "group",
      userId,
    });
    expect((await sessions.open(slack("u1"))).session.id).toBe((await sessions.open(slack("u2"))).session.id);
    const inThread = (await sessions.open(group("alice", { threadId: "7" }))).session.id;
    expect((await sessions.open(group("bob", { threadId: "7" }))).session.id).toBe(inThread);
    expect((await sessions.open(group("alice"))).session.id).not.toBe(
      (await sessions.open(group("bob"))).session.id,
    );
  });

  it("never combines two direct chats", async () => {
    const { sessions } = await openHome();
    const one = await sessions.open(dm(99));
    const other = await sessions.open(dm(100));
    expect(one.conversation.key).toBe("agent:main:telegram:dm:99");
    expect(other.conversation.key).toBe("agent:main:telegram:dm:100");
    expect(one.session.id).not.toBe(other.session.id);
  });

  it("separates a thread, a person and a chat even if their keys are equal", async () => {
    const { sessions } = await openHome();
    const at = { platform: "telegram", chatType: "group" };
    const thread = await sessions.open({ ...at, chatId: "1", threadId: "2" });
    const person = await sessions.open({ ...at, chatId: "1", userId: "2" });
    const chat = await sessions.open({ ...at, chatId: "1:2" });
    expect(thread.conversation.key).toBe(person.conversation.key);
    expect(chat.conversation.key).toBe("agent:main:telegram:group:1%3A2");
    expect(new Set([thread, person, chat].map(({ session }) => session.id)).size).toBe(3);
    expect((await sessions.open({ ...at, chatId: "1", threadId: "2" })).session.id).toBe(thread.session.id);
  });

  it("finds a person by either of two ids", async () => {
    const { sessions } = await openHome();
    const at = { platform: "signal", chatId: "group:abc", chatType: "group" };
    const both = await sessions.open({ ...at, userId: "+1", userIdAlt: "uuid-1" });
    const phone = await sessions.open({ ...at, userId: "+1" });
    const uuid = await sessions.open({ ...at, userIdAlt: "uuid-1" });
    expect([phone.session.id, uuid.session.id]).toEqual([both.session.id, both.session.id]);
  });

  it("joins two ids that turn out to be one person, who keeps both histories", async () => {
    const { sessions, clock } = await openHome();
    const at = { platform: "signal", chatId: "group:abc", chatType: "group" };
    const early = await sessions.open({ ...at, userId: "+1" });
    await sessions.append(everyone, early.session.id, { role: "user", text: "by phone" });
    clock.pass(MINUTE);
    const late = await sessions.open({ ...at, userIdAlt: "uuid-1" });
    await sessions.append(everyone, late.session.id, { role: "user", text: "by uuid" });
    clock.pass(MINUTE);
    const joined = await sessions.open({ ...at, userId: "+1", userIdAlt: "uuid-1" });
    expect(joined.session.id).toBe(late.session.id);
    const who = { person: joined.session.owner };
    const back = await sessions.switchTo(who, joined.conversation.number, early.session.id);
    expect(back?.session.id).toBe(early.session.id);
    expect(await sessions.history(who, early.session.id)).toHaveLength(1);
  });

  it("keeps its rules when the settings change, and reports it; new chats use the new setting", async () => {
    const before = await openHome({ scope: { groupsPerUser: true } });
    const alice = await before.sessions.open(group("alice"));
    await before.sessions.append(everyone, alice.session.id, { role: "user", text: "remember me" });
    const after = await before.restart({ scope: { groupsPerUser: false } });
    const again = await after.sessions.open(group("alice"));
    expect(again.session.id).toBe(alice.session.id);
    expect(again.usesOldScope).toBe(true);
    expect(again.conversation.scope).toEqual(PER_USER);
    const carol = await after.sessions.open(group("carol", { chatId: "guild-9" }));
    expect(carol.usesOldScope).toBe(false);
    expect((await after.sessions.open(group("dave", { chatId: "guild-9" }))).session.id).toBe(
      carol.session.id,
    );
  });

  it("is one conversation for concurrent callers in several processes", async () => {
    const home = await openHome();
    const other = await home.again();
    const opened = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? home : other).sessions.open(dm(7))),
    );
    expect(new Set(opened.map(({ session }) => session.id)).size).toBe(1);
    expect(opened.filter(({ created }) => created)).toHaveLength(1);
  });

  it("uses the given person", async () => {
    const { sessions } = await openHome();
    const { session, conversation } = await sessions.open(dm(7), { person: "p_alice" });
    expect(session.owner).toBe("p_alice");
    expect(conversation.person).toBe("p_alice");
    expect((await sessions.open(localSource())).session.owner).toBe(OWNER);
  });
});

describe("the reset of a conversation", () => {
  it("does not happen during activity", async () => {
    const { sessions } = await openHome();
    const options = policy({ mode: "both", idleMinutes: 60, atHour: 4 });
    const first = await sessions.open(dm(1), options);
    const second = await sessions.open(dm(1), options);
    expect(first.created).toBe(true);
    expect(second).toMatchObject({ created: false, session: { id: first.session.id } });
    expect(second.fresh).toBeUndefined();
  });

  it("happens after an idle time, with a new id and the reason", async () => {
    const { sessions, clock } = await openHome();
    const options = policy({ mode: "idle", idleMinutes: 30 });
    const before = await sessions.open(dm(1), options);
    await sessions.append(everyone, before.session.id, { role: "user", text: "hello" });
    clock.pass(60 * MINUTE);
    const after = await sessions.open(dm(1), options);
    expect(after.session.id).not.toBe(before.session.id);
    expect(after).toMatchObject({
      created: true,
      fresh: {
        reason: "idle",
        previous: { session: before.session.id, handle: before.session.handle },
        noteDue: true,
        noticeDue: true,
      },
    });
    expect(await sessions.get(everyone, before.session.id)).toMatchObject({
      endedAt: clock.time,
      endReason: "idle",
    });
  });

  it("happens only after more than the idle time", async () => {
    const { sessions, clock } = await openHome();
    const options = policy({ mode: "idle", idleMinutes: 30 });
    const { session } = await sessions.open(dm(1), options);
    clock.pass(30 * MINUTE);
    expect((await sessions.open(dm(1), options)).session.id).toBe(session.id);
    clock.pass(30 * MINUTE + 1);
    expect((await sessions.open(dm(1), options)).fresh?.reason).toBe("idle");
  });

  it("happens at the daily hour", async () => {
    const { sessions, clock } = await openHome();
    const options = policy({ mode: "daily", atHour: 10 });
    await sessions.open(dm(1), options);
    clock.pass(DAY);
    expect((await sessions.open(dm(1), options)).fresh?.reason).toBe("daily");
    clock.pass(2 * DAY);
    expect((await sessions.open(dm(1), options)).fresh?.reason).toBe("daily");
  });

  it("has the reason idle if both apply", async () => {
    const { sessions, clock } = await openHome();
    await sessions.open(dm(1));
    clock.pass(3 * DAY);
    expect((await sessions.open(dm(1))).fresh?.reason).toBe("idle");
  });

  it("never happens automatically with the policy none", async () => {
    const { sessions, clock } = await openHome();
    const { session } = await sessions.open(dm(1), { policy: NO_RESET });
    clock.pass(30 * DAY);
    const after = await sessions.open(dm(1), { policy: NO_RESET });
    expect(after.session.id).toBe(session.id);
    expect(after.fresh).toBeUndefined();
  });

  it("uses the policy of the platform, then of the chat type, then the default", async () => {
    const reset = {
      default: NO_RESET,
      byType: { group: { ...NO_RESET, mode: "idle" as const, idleMinutes: 10 } },
      byPlatform: { slack: { ...NO_RESET, mode: "idle" as const, idleMinutes: 60 } },
    };
    const { sessions, clock } = await openHome({ reset });
    const slack = { platform: "slack", chatId: "C1", chatType: "group", userId: "u" };
    for (const from of [dm(1), group("alice"), slack]) await sessions.open(from);
    clock.pass(30 * MINUTE);
    expect((await sessions.open(dm(1))).fresh).toBeUndefined();
    expect((await sessions.open(group("alice"))).fresh?.reason).toBe("idle");
    expect((await sessions.open(slack)).fresh).toBeUndefined();
  });

  it("reports whether the previous session had messages", async () => {
    const { sessions, clock } = await openHome();
    await sessions.open(dm(1));
    clock.pass(2 * DAY);
    const silent = await sessions.open(dm(1));
    expect(silent.fresh?.hadActivity).toBe(false);
    await sessions.append(everyone, silent.session.id, { role: "user", text: "hello" });
    clock.pass(2 * DAY);
    expect((await sessions.open(dm(1))).fresh?.hadActivity).toBe(true);
  });

  it("keeps pending notifications through a restart, until each was given once", async () => {
    const home = await openHome();
    const { session, conversation } = await home.sessions.open(dm(1));
    await home.sessions.append(everyone, session.id, { role: "user", text: "hello" });
    home.clock.pass(2 * DAY);
    await home.sessions.open(dm(1));
    const { sessions } = await home.restart();
    expect((await sessions.open(dm(1))).fresh).toMatchObject({ noteDue: true, noticeDue: true });
    await sessions.markShown(conversation.number, { note: true });
    expect((await sessions.open(dm(1))).fresh).toMatchObject({ noteDue: false, noticeDue: true });
    await sessions.markShown(conversation.number, { notice: true });
    expect((await sessions.open(dm(1))).fresh).toBeUndefined();
    await sessions.markShown(12345, { note: true });
  });

  it("notifies a person who had sent messages, if the policy requires it, and not on excluded platforms", async () => {
    const { sessions, clock } = await openHome();
    const told = async (from: SourceInput, change: Partial<ResetPolicy>, words: number) => {
      const { session } = await sessions.open(from, policy(change));
      for (let i = 0; i < words; i++)
        await sessions.append(everyone, session.id, { role: "user", text: "hello" });
      clock.pass(2 * DAY);
      const { fresh } = await sessions.open(from, policy(change));
      return [fresh?.noteDue, fresh?.noticeDue];
    };
    expect(await told(dm(1), {}, 1)).toEqual([true, true]);
    expect(await told(dm(2), {}, 0)).toEqual([true, false]);
    expect(await told(dm(3), { notify: false }, 1)).toEqual([true, false]);
    expect(await told(dm(4), { notifyExcludePlatforms: ["telegram"] }, 1)).toEqual([true, false]);
    expect(await told({ platform: "webhook", chatId: "1" }, {}, 1)).toEqual([true, false]);
  });

  it("is prevented by a hold of any age, and happens after its release", async () => {
    const { sessions, clock } = await openHome();
    const { session, conversation } = await sessions.open(dm(1));
    await sessions.hold(everyone, session.id, "build", 30 * DAY);
    clock.pass(10 * DAY);
    expect((await sessions.open(dm(1))).session.id).toBe(session.id);
    expect(await sessions.decisions(everyone, conversation.number)).toMatchObject([
      { decision: "kept_busy", reason: "idle, but a hold", at: clock.time },
      { decision: "created", to: session.id },
    ]);
    clock.pass(10 * DAY);
    expect(await sessions.release(everyone, session.id, "build")).toBe(true);
    expect(await sessions.release(everyone, session.id, "build")).toBe(false);
    expect((await sessions.open(dm(1))).fresh?.reason).toBe("idle");
  });

  it("is not prevented by an expired hold", async () => {
    const { sessions, clock } = await openHome();
    const { session } = await sessions.open(dm(1));
    await sessions.hold(everyone, session.id, "build", HOUR);
    clock.pass(2 * DAY);
    expect((await sessions.open(dm(1))).fresh?.reason).toBe("idle");
  });

  it("is neither delayed nor caused by reads", async () => {
    const { sessions, clock } = await openHome();
    const { session, conversation } = await sessions.open(dm(1), { person: "p_1" });
    const who = { person: "p_1" };
    await sessions.append(who, session.id, { role: "user", text: "hello" });
    clock.pass(DAY + HOUR);
    const looks = [
      () => sessions.conversations(who, dm(1)),
      () => sessions.conversations(who, session.id),
      () => sessions.get(who, session.id),
      () => sessions.find(who, session.handle),
      () => sessions.history(who, session.id),
      () => sessions.messages(who, session.id),
      () => sessions.list(who),
      () => sessions.search(who, "hello"),
      () => sessions.stats(who),
      () => sessions.versions(who, session.id),
      () => sessions.decisions(who, conversation.number),
      () => sessions.export(who, session.id),
      () => sessions.title(who, session.id, "Greeting"),
      () => sessions.recordUsage(who, session.id, { inputTokens: 1 }),
      () => sessions.undo(who, session.id),
      () => sessions.redo(who, session.id),
    ];
    for (const look of looks) await look();
    expect(await sessions.conversations(who, dm(1))).toMatchObject([
      { session: session.id, activeAt: START },
    ]);
    expect(await sessions.shownLength(who, session.id)).toBe(1);
    const next = await sessions.open(dm(1));
    expect(next.fresh).toMatchObject({ reason: "idle", previous: { session: session.id } });
  });
});

describe("the day in a named zone", () => {
  const daily = policy({ mode: "daily", atHour: 4 });
  const berlin = async (utc: string) => {
    const home = await openHome({ zone: "Europe/Berlin" }, fakeClock(Date.parse(utc)));
    const openAt = (at: string) => {
      home.clock.time = Date.parse(at);
      return home.sessions.open(dm(1), daily);
    };
    return { ...home, openAt };
  };

  it("has one boundary on the day the clocks go forward", async () => {
    // 04:00 is 03:00 UTC on Saturday and 02:00 UTC on Sunday, 29 March.
    const { openAt } = await berlin("2026-03-28T03:30Z");
    const { session } = await openAt("2026-03-28T03:30Z");
    expect((await openAt("2026-03-29T01:59:59.999Z")).session.id).toBe(session.id);
    const sunday = await openAt("2026-03-29T02:00Z");
    expect(sunday.fresh).toMatchObject({ reason: "daily", previous: { session: session.id } });
    // At the UTC time of Saturday's boundary nothing happens.
    expect((await openAt("2026-03-29T03:30Z")).session.id).toBe(sunday.session.id);
  });

  it("has one boundary on the day with a repeated hour", async () => {
    const home = await openHome({ zone: "Europe/Berlin" }, fakeClock(Date.parse("2026-10-24T12:00Z")));
    const atTwo = policy({ mode: "daily", atHour: 2 });
    await home.sessions.open(dm(1), atTwo);
    home.clock.time = Date.parse("2026-10-25T00:00Z"); // 02:00, the first time
    const fresh = await home.sessions.open(dm(1), atTwo);
    expect(fresh.fresh?.reason).toBe("daily");
    home.clock.time = Date.parse("2026-10-25T01:30Z"); // 02:30, the second time
    expect((await home.sessions.open(dm(1), atTwo)).session.id).toBe(fresh.session.id);
  });

  it("does not change the idle time when the clocks change", async () => {
    const home = await openHome({ zone: "Europe/Berlin" }, fakeClock(Date.parse("2026-03-29T00:30Z")));
    const anHour = policy({ mode: "idle", idleMinutes: 60 });
    const { session } = await home.sessions.open(dm(1), anHour);
    home.clock.pass(HOUR); // the local clock has moved two hours
    expect((await home.sessions.open(dm(1), anHour)).session.id).toBe(session.id);
    home.clock.pass(HOUR + 1);
    expect((await home.sessions.open(dm(1), anHour)).fresh?.reason).toBe("idle");
  });

  it("changes no stored time when another zone is set", async () => {
    const home = await openHome({ zone: "Europe/Berlin" });
    const { session } = await home.sessions.open(dm(1));
    const { sessions } = await home.restart({ zone: "Asia/Tokyo" });
    const found = await sessions.get(everyone, session.id);
    expect(found).toEqual(session);
    expect(session.id).toMatch(/^20260315_110000_/);
  });

  it("must be an existing zone", async () => {
    const { store } = await openHome();
    expect(() => createSessions({ store, zone: "Mars/Base" })).toThrow(
      expect.objectContaining({ code: "invalid_config" }),
    );
  });
});

describe("new sessions, and switching back", () => {
  it("gives a conversation a new session on request; the old one ends and can be resumed", async () => {
    const { sessions, clock } = await openHome();
    const { session, conversation } = await sessions.open(dm(1), { person: "p_1" });
    const who = { person: "p_1" };
    await sessions.append(who, session.id, { role: "user", text: "keep this" });
    clock.pass(MINUTE);
    const fresh = await sessions.reset(who, conversation.number);
    expect(fresh).toMatchObject({ created: true, conversation: { number: conversation.number } });
    expect(fresh.fresh).toBeUndefined();
    expect(fresh.session.origin).toEqual(session.origin);
    expect(await sessions.get(who, session.id)).toMatchObject({ endedAt: clock.time, endReason: "new" });
    expect((await sessions.open(dm(1))).session.id).toBe(fresh.session.id);
    expect(await sessions.history(who, session.id)).toHaveLength(1);
  });

  it("ends the session that a forced new one replaces", async () => {
    const { sessions } = await openHome();
    const old = await sessions.open(dm(1));
    const forced = await sessions.open(dm(1), { fresh: true });
    expect(forced.created).toBe(true);
    expect(forced.fresh).toBeUndefined();
    expect(await sessions.get(everyone, old.session.id)).toMatchObject({ endReason: "new" });
  });

  it("refuses to reset a conversation that does not exist or belongs to another person", async () => {
    const { sessions } = await openHome();
    const { conversation } = await sessions.open(dm(1), { person: "p_1" });
    await expect(sessions.reset({ person: "p_1" }, 99)).rejects.toMatchObject({ code: "not_found" });
    await expect(sessions.reset({ person: "p_2" }, conversation.number)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("reports exactly once that a session is new, after first contact, reset or request", async () => {
    const { sessions, clock } = await openHome();
    const said: boolean[] = [];
    const open = async () => {
      const opened = await sessions.open(dm(1));
      said.push(opened.created);
      return opened;
    };
    const { conversation } = await open();
    await open();
    said.push((await sessions.reset(everyone, conversation.number)).created);
    await open();
    clock.pass(2 * DAY);
    await open();
    await open();
    expect(said).toEqual([true, false, true, false, true, false]);
  });

  it("switches back to an earlier session, which is then reopened", async () => {
    const { sessions } = await openHome();
    const who = { person: "p_1" };
    const first = await sessions.open(dm(1), who);
    const second = await sessions.reset(who, first.conversation.number);
    const back = await sessions.switchTo(who, first.conversation.number, first.session.id);
    expect(back).toMatchObject({ created: false, session: { id: first.session.id } });
    expect(back?.session.endedAt).toBeUndefined();
    expect(await sessions.get(who, second.session.id)).toMatchObject({ endReason: "switch" });
    const same = await sessions.switchTo(who, first.conversation.number, first.session.id);
    expect(same?.session).toEqual(back?.session);
  });

  it("counts a switch as activity", async () => {
    const { sessions, clock } = await openHome();
    const who = { person: "p_1" };
    const first = await sessions.open(dm(1), who);
    await sessions.reset(who, first.conversation.number);
    clock.pass(23 * HOUR);
    const back = await sessions.switchTo(who, first.conversation.number, first.session.id);
    expect(back?.conversation.activeAt).toBe(clock.time);
  });

  it("changes nothing if the session to switch to is unknown", async () => {
    const { sessions } = await openHome();
    const who = { person: "p_1" };
    const { session, conversation } = await sessions.open(dm(1), who);
    expect(await sessions.switchTo(who, conversation.number, "20200101_000000_00000000")).toBeUndefined();
    expect(await sessions.switchTo(who, 99, session.id)).toBeUndefined();
    await expect(sessions.switchTo(who, conversation.number, "../etc")).rejects.toMatchObject({
      code: "invalid_input",
    });
    expect((await sessions.get(who, session.id))?.endedAt).toBeUndefined();
    expect((await sessions.open(dm(1))).session.id).toBe(session.id);
  });

  it("lets two conversations share a session, which ends when the last of them leaves", async () => {
    const { sessions } = await openHome();
    const who = { person: "p_1" };
    const phone = await sessions.open(dm(1), who);
    const terminal = await sessions.open({ platform: "discord", chatId: "9", userId: "9" }, who);
    await sessions.switchTo(who, terminal.conversation.number, phone.session.id);
    expect((await sessions.conversations(who, phone.session.id)).map(({ number }) => number)).toEqual([
      phone.conversation.number,
      terminal.conversation.number,
    ]);
    await sessions.reset(who, phone.conversation.number);
    expect((await sessions.get(who, phone.session.id))?.endedAt).toBeUndefined();
    await sessions.reset(who, terminal.conversation.number);
    expect((await sessions.get(who, phone.session.id))?.endReason).toBe("new");
  });

  it("refuses to move a private session into a group, and names the chats in which it is possible", async () => {
    const { sessions } = await openHome();
    const who = { person: "p_1" };
    const alone = await sessions.open(dm(1), who);
    const there = await sessions.open(group("alice"), who);
    await expect(sessions.switchTo(who, there.conversation.number, alone.session.id)).rejects.toMatchObject({
      code: "not_allowed",
      message: expect.stringContaining("direct chat"),
    });
  });

  it("refuses another person's session, even with its id", async () => {
    const { sessions } = await openHome();
    const alice = await sessions.open(dm(1), { person: "p_alice" });
    const bob = await sessions.open(dm(2), { person: "p_bob" });
    await expect(
      sessions.switchTo({ person: "p_bob" }, bob.conversation.number, alice.session.id),
    ).rejects.toMatchObject({ code: "not_allowed" });
    expect((await sessions.open(dm(2))).session.id).toBe(bob.session.id);
  });

  it("records the reasons, newest first, for people in the chat", async () => {
    const { sessions, clock } = await openHome();
    const who = { person: "p_1" };
    const first = await sessions.open(dm(1), who);
    clock.pass(2 * DAY);
    const second = await sessions.open(dm(1));
    const third = await sessions.reset(who, second.conversation.number);
    await sessions.switchTo(who, third.conversation.number, first.session.id);
    const decisions = await sessions.decisions(who, first.conversation.number);
    expect(decisions.map(({ decision, from, to }) => [decision, from, to])).toEqual([
      ["switched", third.session.id, first.session.id],
      ["new", second.session.id, third.session.id],
      ["reset", first.session.id, second.session.id],
      ["created", undefined, first.session.id],
    ]);
    expect(decisions[2]).toMatchObject({ reason: "idle", activeAt: START, idleBefore: clock.time - DAY });
    expect(await sessions.decisions({ person: "p_2" }, first.conversation.number)).toEqual([]);
  });

  it("shows the conversations of a chat only to the people in them", async () => {
    const { sessions } = await openHome();
    await sessions.open(group("alice"), { person: "p_alice" });
    await sessions.open(group("bob"), { person: "p_bob" });
    const there = getChatAudience(source(group("alice")));
    const asker = { person: "p_alice", ...(there !== undefined && { chat: there }) };
    expect((await sessions.conversations(asker, group("x"))).map(({ person }) => person)).toEqual([
      "p_alice",
    ]);
    expect(await sessions.conversations(everyone, group("x"))).toHaveLength(2);
  });
});

describe("a conversation with a new session", () => {
  it("starts with counters at zero, and keeps those of the old session", async () => {
    const { sessions } = await openHome();
    const { session, conversation } = await sessions.open(dm(99));
    const who = { person: session.owner };
    await sessions.append(who, session.id, { role: "user", text: "hello" });
    await sessions.recordUsage(who, session.id, {
      inputTokens: 200,
      outputTokens: 100,
      lastPromptTokens: 42,
    });
    const fresh = (await sessions.reset(who, conversation.number)).session;
    expect(fresh).toMatchObject({ messageCount: 0, usage: { totalTokens: 0, lastPromptTokens: 0 } });
    const old = await sessions.get(who, session.id);
    expect(old).toMatchObject({ messageCount: 1, usage: { totalTokens: 300, lastPromptTokens: 42 } });
  });
});

describe("a session that is used by its id", () => {
  it("is not reset while its chat is idle: messages count as activity, opening does not", async () => {
    const { sessions, clock } = await openHome();
    const idle = policy({ mode: "idle", idleMinutes: 60 });
    const { session } = await sessions.open(dm(99), idle);
    const who = { person: session.owner };
    clock.pass(50 * MINUTE);
    await sessions.append(who, session.id, { role: "user", text: "still here" });
    clock.pass(50 * MINUTE);
    expect((await sessions.open(dm(99), idle)).session.id).toBe(session.id);
    await sessions.append(who, session.id, { role: "assistant", text: "by the way" });
    clock.pass(50 * MINUTE);
    expect((await sessions.open(dm(99), idle)).fresh?.reason).toBe("idle");
  });
});
