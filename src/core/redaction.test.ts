import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hashChat,
  hashId,
  hashSender,
  isPhoneLike,
  type Privacy,
  redactHome,
  redactSource,
} from "./redaction.ts";
import { source } from "./source.ts";

const homeKey = "0123456789abcdef".repeat(4);
const ON: Privacy = { redactPii: true };
const STRICT: Privacy = { redactPii: "strict", homeKey };

/** The expected result of strict, by another implementation. */
function hashValue(value: string): string {
  return createHmac(
    "sha256",
    new Uint8Array(homeKey.match(/../g)?.map((it) => Number.parseInt(it, 16)) ?? []),
  )
    .update(value)
    .digest("hex")
    .slice(0, 12);
}

const phone = "+15551234567";
const phoneHash = "8a59780bb8cd";
const caller = source({
  platform: "signal",
  chatId: phone,
  chatName: phone,
  userId: phone,
  userName: phone,
  threadId: "t9",
});
const group = source({
  platform: "telegram",
  chatId: -1002285219667,
  chatType: "group",
  chatName: "Family",
  chatTopic: "Holidays",
  userId: 12345,
  userName: "alice",
  threadId: 17585,
  userIdAlt: "uuid-1",
});

describe("hashes", () => {
  it.each([
    ["12345", "5994471abb01"],
    ["user-123", "fcdec6df4d44"],
    ["99999", "fd5f56b40a79"],
    [phone, phoneHash],
  ])("of %s never change", (value, hash) => {
    expect(hashId(value)).toBe(hash);
    expect(hashSender(value)).toBe(`user_${hash}`);
    expect(hashSender(value)).toHaveLength(17);
  });

  it("of a chat keep its kind", () => {
    expect(hashChat("telegram:12345")).toBe("telegram:5994471abb01");
    expect(hashChat("12345")).toBe("5994471abb01");
    expect(hashChat(":12345")).toBe(hashId(":12345"));
    expect(hashChat("group:a:b")).toBe(`group:${hashId("a:b")}`);
  });

  it("of a chat hide the text before a colon if that is a number or a name", () => {
    for (const id of [
      "15551234567:3@s.whatsapp.net",
      "@alice:example.org",
      "-100:17",
      "alice7:example.org",
    ]) {
      expect(hashChat(id)).toBe(hashId(id));
    }
  });
});

describe("a phone number", () => {
  it.each([phone, "15551234567", "+1-555-123-4567", "+1 555 123 4567", "+1 (555) 123-4567", "1234567"])(
    "is detected in %j",
    (text) => expect(isPhoneLike(text)).toBe(true),
  );

  it.each(["alice", "user-123", "", "123456", "+", "Team 15551234567", "15551234567@s.whatsapp.net"])(
    "is not detected in %j",
    (text) => expect(isPhoneLike(text)).toBe(false),
  );
});

describe("redaction switched off", () => {
  it.each<Privacy>([{}, { redactPii: false }, { redactPii: false, homeKey }])(
    "changes nothing (%j)",
    (privacy) => {
      expect(redactSource(caller, privacy)).toBe(caller);
    },
  );
});

describe("redaction", () => {
  it("hides ids and the thread, keeps names and the topic", () => {
    expect(redactSource(group, ON)).toStrictEqual({
      platform: "telegram",
      chatType: "group",
      chatId: hashId("-1002285219667"),
      chatName: "Family",
      chatTopic: "Holidays",
      userId: "user_5994471abb01",
      userName: "alice",
    });
  });

  it("hides names that are phone numbers, with the same hash for a person", () => {
    expect(redactSource(caller, ON)).toStrictEqual({
      platform: "signal",
      chatType: "dm",
      chatId: phoneHash,
      chatName: phoneHash,
      userId: `user_${phoneHash}`,
      userName: `user_${phoneHash}`,
    });
  });

  it("hides names that only repeat an id", () => {
    const jid = "15551234567@s.whatsapp.net";
    const redacted = redactSource(
      source({ platform: "whatsapp", chatId: jid, chatName: jid, userId: "u", userName: jid }),
      ON,
    );
    expect(JSON.stringify(redacted)).not.toContain("1555");
  });

  it.each(["discord", "slack", "matrix", "email", "local"])("leaves %s unchanged", (platform) => {
    const there = source({ ...group, platform });
    expect(redactSource(there, ON)).toBe(there);
  });

  it("covers unknown platforms", () => {
    expect(redactSource(source({ ...group, platform: "bluebubbles" }), ON).userId).toBe("user_5994471abb01");
  });

  it("never reveals an id, for any ids", () => {
    const number = fc.stringMatching(/^\+[1-9][0-9]{8,13}$/);
    fc.assert(
      fc.property(
        fc.constantFrom("whatsapp", "signal", "telegram"),
        fc.constantFrom(ON, STRICT),
        number,
        number,
        number,
        (platform, privacy, chatId, userId, threadId) => {
          const seen = JSON.stringify(
            redactSource(
              source({ platform, chatId, userId, threadId, userName: userId, chatName: chatId }),
              privacy,
            ),
          );
          for (const id of [chatId, userId, threadId]) expect(seen).not.toContain(id);
        },
      ),
    );
  });
});

describe("strict redaction", () => {
  it("hashes with the home's key and hides names and topics too", () => {
    expect(redactSource(group, STRICT)).toStrictEqual({
      platform: "telegram",
      chatType: "group",
      chatId: hashValue("-1002285219667"),
      chatTopic: "(hidden)",
      userId: `user_${hashValue("12345")}`,
    });
  });

  it("distinguishes people by a masked name if there is no id", () => {
    const nameless = source({ platform: "signal", chatId: "1", userName: "alice" });
    expect(redactSource(nameless, STRICT).userName).toBe(`user_${hashValue("alice")}`);
  });

  it("covers every platform", () => {
    for (const platform of ["matrix", "email", "sms", "web", "somewhere"]) {
      expect(redactSource(source({ ...group, platform }), STRICT).userId).toBe(`user_${hashValue("12345")}`);
    }
  });

  it("keeps the ids that mentions need, without the names", () => {
    const seen = redactSource(source({ ...group, platform: "discord" }), STRICT);
    expect(seen).toMatchObject({ chatId: group.chatId, userId: "12345", threadId: "17585" });
    expect(JSON.stringify(seen)).not.toMatch(/alice|Family|Holidays/);
  });

  it("gives different values in another home", () => {
    const other = { redactPii: "strict", homeKey: "ff".repeat(32) } as const;
    expect(redactSource(group, other).userId).not.toBe(redactSource(group, STRICT).userId);
  });

  it.each([undefined, "", "ab", "xyz".repeat(20), "0".repeat(33)])(
    "is refused without a valid key (%j)",
    (key) => {
      const privacy: Privacy = { redactPii: "strict", ...(key === undefined ? {} : { homeKey: key }) };
      expect(() => redactSource(group, privacy)).toThrow(
        expect.objectContaining({ code: "invalid_config", message: expect.stringContaining("strict") }),
      );
    },
  );
});

describe("a home channel", () => {
  const home = { platform: "telegram", chatId: "99999", name: "Home base" };
  const den = { platform: "discord", chatId: "12345", name: "Den" };

  it("keeps its name and hides its id, on every platform", () => {
    expect(redactHome(home, "signal", ON)).toEqual({ ...home, chatId: "fd5f56b40a79" });
    expect(redactHome(den, "telegram", ON)).toEqual({ ...den, chatId: "5994471abb01" });
  });

  it("is unchanged in a conversation without redaction", () => {
    expect(redactHome(home, "discord", ON)).toBe(home);
    expect(redactHome(home, "telegram", {})).toBe(home);
  });

  it("hides a name that is a number", () => {
    expect(redactHome({ ...home, name: phone }, "signal", ON).name).toBe(phoneHash);
    expect(redactHome({ ...home, name: "99999" }, "signal", ON).name).toBe("fd5f56b40a79");
  });

  it("in strict shows its id only on the conversation's platform, if mentions need it", () => {
    expect(redactHome(den, "discord", STRICT)).toEqual({ ...den, name: "Home" });
    expect(redactHome(den, "telegram", STRICT).chatId).toBe(hashValue("12345"));
    expect(redactHome(home, "discord", STRICT).chatId).toBe(hashValue("99999"));
  });
});
