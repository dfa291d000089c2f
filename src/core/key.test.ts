import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { buildIdentity, type Identity, type ScopeRules } from "./identity.ts";
import { matchesKey, parseKey, sessionKey } from "./key.ts";
import { localSource, type SourceInput, source } from "./source.ts";

const EACH: ScopeRules = { groupsPerUser: true, threadsPerUser: true };
const TOGETHER: ScopeRules = { groupsPerUser: false, threadsPerUser: false };

function buildKey(input: SourceInput, scope: ScopeRules = EACH): string {
  return sessionKey(buildIdentity(source(input), scope));
}

/** Few letters, so that separators, escapes and equal parts occur often. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom(":", "%", "2", "5", "3", "A", "a"), minLength: 1, maxLength: 6 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
);
const identity: fc.Arbitrary<Identity> = fc.record(
  {
    profile: part,
    platform: fc.constantFrom("telegram", "signal"),
    chatType: fc.oneof(fc.constantFrom("dm", "group"), part),
    chatId: part,
    threadId: part,
    participant: fc.oneof(
      fc.record({ id: part }),
      fc.record({ altId: part }),
      fc.record({ id: part, altId: part }),
    ),
  },
  { requiredKeys: ["profile", "platform", "chatType", "chatId"] },
);

function listParts(it: Identity): string[] {
  const all = [it.chatId, it.threadId, it.participant?.altId ?? it.participant?.id];
  return all.filter((one) => one !== undefined);
}

describe("the key of a conversation", () => {
  const forum = { platform: "telegram", chatId: -1002285219667, chatType: "group", threadId: 17585 };
  const guild = { platform: "discord", chatId: "guild-123", chatType: "group" };
  const jid = "15551234567@s.whatsapp.net";

  it.each<[string, SourceInput, ScopeRules?]>([
    ["agent:main:telegram:dm:99", { platform: "telegram", chatId: 99 }],
    ["agent:main:telegram:dm:100", { platform: "telegram", chatId: 100, userId: 1 }],
    ["agent:main:telegram:dm:99:5", { platform: "telegram", chatId: 99, threadId: 5 }],
    [`agent:main:whatsapp:dm:${jid}`, { platform: "whatsapp", chatId: jid, userId: jid }],
    ["agent:main:discord:group:guild-123:alice", { ...guild, userId: "alice" }],
    ["agent:main:discord:group:guild-123", { ...guild, userId: "alice" }, TOGETHER],
    ["agent:main:discord:group:guild-123", guild],
    ["agent:main:telegram:group:-1002285219667:17585", forum],
    ["agent:main:telegram:group:-1002285219667:17585:42", { ...forum, userId: 42 }],
    [
      "agent:main:telegram:group:-1002285219667:17585",
      { ...forum, userId: 42 },
      { groupsPerUser: true, threadsPerUser: false },
    ],
    [
      "agent:main:signal:group:group%3Aabc:uuid-1",
      { platform: "signal", chatId: "group:abc", chatType: "group", userId: "+1", userIdAlt: "uuid-1" },
    ],
    ["agent:main:local:dm:cli", localSource()],
    [
      "agent:main:webhook:webhook:webhook%3Agh%3Ad1:webhook%3Agh",
      { platform: "webhook", chatId: "webhook:gh:d1", chatType: "webhook", userId: "webhook:gh" },
    ],
  ])("is %s", (key, input, scope) => {
    expect(buildKey(input, scope)).toBe(key);
  });

  it.each<[string, unknown]>([
    ["a direct chat with only a thread", { platform: "telegram", chatId: "", threadId: 5 }],
    ["a direct chat with nothing", { platform: "telegram" }],
    ["a WhatsApp chat with an empty id", { platform: "whatsapp", chatId: "" }],
    ["a group with an empty id", { platform: "telegram", chatId: "", chatType: "group" }],
  ])("does not exist for %s: the source is refused", (_, input) => {
    expect(() => buildKey(input as SourceInput)).toThrow(/chatId is missing/);
  });

  it("never confuses a chat whose id has a colon with a thread or a person of another chat", () => {
    const group = { platform: "telegram", chatType: "group" };
    const colon = buildKey({ ...group, chatId: "1:2" });
    expect(colon).toBe("agent:main:telegram:group:1%3A2");
    expect(colon).not.toBe(buildKey({ ...group, chatId: "1", threadId: "2" }));
    expect(colon).not.toBe(buildKey({ ...group, chatId: "1", userId: "2" }));
    expect(colon).not.toBe(buildKey({ ...group, chatId: "1%3A2" }));
  });

  it("contains the second id of a person, else the first", () => {
    const base = { platform: "signal", chatId: "g", chatType: "group" };
    expect(buildKey({ ...base, userId: "+1", userIdAlt: "u" })).toBe("agent:main:signal:group:g:u");
    expect(buildKey({ ...base, userId: "+1" })).toBe("agent:main:signal:group:g:+1");
    expect(buildKey({ ...base, userIdAlt: "u" })).toBe("agent:main:signal:group:g:u");
  });

  it("is parsed into the parts it was built from", () => {
    fc.assert(
      fc.property(identity, (it) => {
        expect(parseKey(sessionKey(it))).toStrictEqual({
          profile: it.profile,
          platform: it.platform,
          chatType: it.chatType,
          parts: listParts(it),
        });
      }),
    );
  });

  it("is equal for two identities only if all their parts are equal", () => {
    fc.assert(
      fc.property(identity, identity, (a, b) => {
        const list = (it: Identity) =>
          JSON.stringify([it.profile, it.platform, it.chatType, ...listParts(it)]);
        expect(sessionKey(a) === sessionKey(b)).toBe(list(a) === list(b));
      }),
      { numRuns: 500 },
    );
  });
});

describe("reading a key", () => {
  it.each([
    "",
    "agent",
    "agent:main:telegram:dm",
    "agent:main:telegram:dm:",
    "agent::telegram:dm:1",
    "other:main:telegram:dm:1",
    "agent:main:telegram:group:1:2:3:4",
    "agent:main:telegram:group:100%",
    "agent:main:telegram:group:1%3a2",
    "agent:main:telegram:group:a%20b",
  ])("refuses %j, which Postrider never writes", (key) => {
    expect(parseKey(key)).toBeUndefined();
  });

  it("never throws for any text, and accepts only keys in their exact form", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          part.map((p) => `agent:main:telegram:group:${p}`),
        ),
        (text) => {
          const parsed = parseKey(text);
          if (parsed === undefined) return;
          const { parts, ...rest } = parsed;
          const [chatId = "", threadId, id] = parts;
          const again: Identity = {
            ...rest,
            chatId,
            ...(threadId === undefined ? {} : { threadId }),
            ...(id === undefined ? {} : { participant: { id } }),
          };
          expect(sessionKey(again)).toBe(text);
        },
      ),
    );
  });
});

describe("matching a key", () => {
  const base = { profile: "main", platform: "telegram", chatType: "group", chatId: "1" };

  it("matches both the thread and the person with the same key", () => {
    const key = "agent:main:telegram:group:1:2";
    expect(matchesKey(key, { ...base, threadId: "2" })).toBe(true);
    expect(matchesKey(key, { ...base, participant: { id: "2" } })).toBe(true);
    expect(matchesKey(key, { ...base, chatId: "1:2" })).toBe(false);
    expect(matchesKey(key, base)).toBe(false);
  });

  it("matches a person by either id, also after the second was learnt", () => {
    const both = { ...base, participant: { id: "+1", altId: "uuid-1" } };
    expect(matchesKey("agent:main:telegram:group:1:+1", both)).toBe(true);
    expect(matchesKey("agent:main:telegram:group:1:uuid-1", both)).toBe(true);
    expect(matchesKey("agent:main:telegram:group:1", both)).toBe(false);
  });

  it("always matches the identity of the key", () => {
    fc.assert(fc.property(identity, (it) => matchesKey(sessionKey(it), it)));
  });
});
