import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildIdentity, getParticipant, isShared, type ScopeRules, scopeFor } from "./identity.ts";
import { source } from "./source.ts";

const EACH: ScopeRules = { groupsPerUser: true, threadsPerUser: true };
const alice = source({ platform: "discord", chatId: "guild-123", chatType: "group", userId: "alice" });
const bob = source({ platform: "discord", chatId: "guild-123", chatType: "group", userId: "bob" });
const inThread = source({ platform: "telegram", chatId: -100, chatType: "group", threadId: 7, userId: 42 });

const rules = fc.record({ groupsPerUser: fc.boolean(), threadsPerUser: fc.boolean() });

describe("scope rules", () => {
  it("give each person in a group a separate conversation by default", () => {
    expect(scopeFor({}, "telegram")).toEqual(EACH);
  });

  it("prefer the setting of the platform, field by field", () => {
    const settings = {
      groupsPerUser: false,
      byPlatform: { slack: { threadsPerUser: false }, discord: { groupsPerUser: true } },
    };
    expect(scopeFor(settings, "slack")).toEqual({ groupsPerUser: false, threadsPerUser: false });
    expect(scopeFor(settings, "discord")).toEqual({ groupsPerUser: true, threadsPerUser: true });
    expect(scopeFor(settings, "telegram")).toEqual({ groupsPerUser: false, threadsPerUser: true });
  });

  it("are the general ones for a platform with the name of a built-in property", () => {
    expect(scopeFor({ byPlatform: {} }, "constructor")).toEqual(EACH);
  });
});

describe("the identity of a conversation", () => {
  it("separates two people in one group", () => {
    expect(buildIdentity(alice, EACH)).toStrictEqual({
      profile: "main",
      platform: "discord",
      chatType: "group",
      chatId: "guild-123",
      participant: { id: "alice" },
    });
    expect(buildIdentity(alice, EACH)).not.toEqual(buildIdentity(bob, EACH));
  });

  it("can combine a group", () => {
    const together = { ...EACH, groupsPerUser: false };
    expect(buildIdentity(alice, together)).toStrictEqual(buildIdentity(bob, together));
    expect(buildIdentity(alice, together)).not.toHaveProperty("participant");
  });

  it("can combine only threads", () => {
    const threads = { ...EACH, threadsPerUser: false };
    expect(buildIdentity(inThread, threads)).not.toHaveProperty("participant");
    expect(buildIdentity(inThread, threads).threadId).toBe("7");
    expect(buildIdentity(alice, threads).participant).toEqual({ id: "alice" });
    expect(buildIdentity(inThread, EACH).participant).toEqual({ id: "42" });
  });

  it("keeps a shared group shared inside its threads too", () => {
    const odd = { groupsPerUser: false, threadsPerUser: true };
    expect(buildIdentity(inThread, odd)).not.toHaveProperty("participant");
  });

  it("keeps both ids of the sender, so that an account is known by either", () => {
    const signal = source({
      platform: "signal",
      chatId: "group:abc",
      chatType: "group",
      userId: "+1",
      userIdAlt: "uuid-1",
    });
    expect(buildIdentity(signal, EACH).participant).toStrictEqual({ id: "+1", altId: "uuid-1" });
    expect(getParticipant({ userIdAlt: "uuid-1" })).toStrictEqual({ altId: "uuid-1" });
    expect(getParticipant({})).toBeUndefined();
  });

  it("has no participant if the platform provides none", () => {
    const post = source({ platform: "telegram", chatId: -100, chatType: "channel" });
    expect(buildIdentity(post, EACH)).not.toHaveProperty("participant");
  });

  it("in a direct chat depends neither on the sender nor on the rules", () => {
    fc.assert(
      fc.property(
        rules,
        fc.nat(),
        fc.nat(),
        fc.option(fc.nat(), { nil: undefined }),
        (scope, chatId, userId, threadId) => {
          const direct = source({ platform: "telegram", chatId, userId, threadId });
          const nobody = source({ platform: "telegram", chatId, threadId });
          expect(buildIdentity(direct, scope)).toStrictEqual(buildIdentity(nobody, EACH));
          expect(isShared(direct, scope)).toBe(false);
        },
      ),
    );
  });

  it("never depends on names, topics or the chat's second id", () => {
    fc.assert(
      fc.property(rules, fc.string(), (scope, text) => {
        const named = source({
          ...inThread,
          userName: text,
          chatName: text,
          chatTopic: text,
          chatIdAlt: "x",
        });
        expect(buildIdentity(named, scope)).toStrictEqual(buildIdentity(inThread, scope));
      }),
    );
  });

  it("differs by profile, and a blank profile is refused", () => {
    expect(buildIdentity(alice, EACH, "work")).toMatchObject({ profile: "work", chatId: "guild-123" });
    expect(() => buildIdentity(alice, EACH, " ")).toThrow(/profile/);
  });
});
