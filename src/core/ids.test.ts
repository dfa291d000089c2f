import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PostriderError } from "./errors.ts";
import { assertSessionId, encodeHandle, isHandle, isSessionId, uuidFrom } from "./ids.ts";
import { buildSessionId } from "./session-id.ts";

describe("a new session's id", () => {
  it("contains its start time in the given zone", () => {
    const now = Date.parse("2026-03-15T03:04:05.999Z");
    expect(buildSessionId(now, "UTC", "c9a6f01b")).toBe("20260315_030405_c9a6f01b");
    expect(buildSessionId(now, "America/New_York", "c9a6f01b")).toBe("20260314_230405_c9a6f01b");
  });

  it.each(["", "c9a6f01", "c9a6f01bb", "C9A6F01B", "c9a6f01g", "c9a6f01b\n"])(
    "needs eight hex digits: %j",
    (hex) => {
      expect(() => buildSessionId(0, "UTC", hex)).toThrow(PostriderError);
    },
  );

  it("is always valid", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: Date.parse("9999-12-31T00:00:00Z") }),
        fc.nat(0xffff_ffff),
        (now, chance) => {
          const id = buildSessionId(now, "Asia/Kathmandu", chance.toString(16).padStart(8, "0"));
          expect(id).toMatch(/^\d{8}_\d{6}_[0-9a-f]{8}$/);
          expect(assertSessionId(id)).toBe(id);
        },
      ),
    );
  });
});

describe("a UUID", () => {
  it("has the version and variant of a random UUID, and all other bits are random", () => {
    expect(uuidFrom(new Uint8Array(16))).toBe("00000000-0000-4000-8000-000000000000");
    expect(uuidFrom(new Uint8Array(16).fill(255))).toBe("ffffffff-ffff-4fff-bfff-ffffffffffff");
  });

  it("is well formed for any bytes, which it does not change", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const before = [...bytes];
        const uuid = uuidFrom(bytes);
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(isSessionId(uuid)).toBe(true);
        expect([...bytes]).toEqual(before);
      }),
    );
  });

  it("is refused for fewer or more bytes", () => {
    expect(() => uuidFrom(new Uint8Array(15))).toThrow(PostriderError);
    expect(() => uuidFrom(new Uint8Array(17))).toThrow(PostriderError);
  });
});

describe("a session id from outside", () => {
  it.each([
    "20260315_092437_c9a6f01b",
    "0b5dd1cc-6f6a-4a4e-9c3d-5a3b8f1f2a10",
    "cron_daily-report_20260315_092437",
    "bg_092437_c9a6f0",
    "notes.v2",
    "x",
    "A".repeat(128),
  ])("is accepted: %s", (id) => {
    expect(assertSessionId(id)).toBe(id);
  });

  it.each([
    "",
    ".",
    "..",
    ".hidden",
    "a..b",
    "../../etc/passwd",
    "a/b",
    "a\\b",
    "a b",
    "a\n",
    "a\0b",
    "%2e%2e",
    "a:b",
    "ä",
    "١",
    "A".repeat(129),
  ])("is refused if it is ambiguous or unsafe: %j", (id) => {
    expect(isSessionId(id)).toBe(false);
    expect(() => assertSessionId(id)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });

  it("is never repeated in full length or with control characters", () => {
    const start = (text: string) => refusal(text).replace(/ cannot be a session id.*$/s, "");
    expect(start("a b")).toBe('"a b"');
    expect(start("x\n\u001b[2J\u202e")).toBe('"x\\u{a}\\u{1b}[2J\\u{202e}"');
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 300 }), (tail) => {
        const message = refusal(`/${tail}`);
        expect(message).toMatch(/^[ -~…]*$/);
        expect(start(`/${tail}`).length).toBeLessThanOrEqual(82);
      }),
    );
  });
});

describe("a session's short handle", () => {
  const TIER_3 = 23 * 31 ** 2;
  const TIER_4 = 23 * 31 ** 3;

  it("never changes, because people remember it", () => {
    expect([1, 2, 3, 4, 5, 100, TIER_3].map(encodeHandle)).toEqual([
      "rgx",
      "fqk",
      "ww8",
      "m5v",
      "cch",
      "vqt",
      "aaa",
    ]);
    expect([TIER_3 + 1, TIER_3 + 2, TIER_3 + TIER_4].map(encodeHandle)).toEqual(["rgxp", "fqk3", "aaaa"]);
    expect(encodeHandle(TIER_3 + TIER_4 + 1)).toBe("rgxpu");
    expect(encodeHandle(Number.MAX_SAFE_INTEGER)).toBe("gbdwqetvvnw");
  });

  it("has three characters until all of them are used, then four", () => {
    const handles = new Set<string>();
    for (let n = 1; n <= TIER_3; n++) handles.add(encodeHandle(n));
    expect(handles.size).toBe(TIER_3);
    expect([...handles].every((handle) => handle.length === 3)).toBe(true);
    expect(encodeHandle(TIER_3 + 1)).toHaveLength(4);
    expect(encodeHandle(TIER_3 + TIER_4)).toHaveLength(4);
    expect(encodeHandle(TIER_3 + TIER_4 + 1)).toHaveLength(5);
  });

  it("belongs to one session only, also across lengths", () => {
    const number = fc.oneof(
      fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: TIER_3 - 500, max: TIER_3 + 500 }),
      fc.integer({ min: TIER_3 + TIER_4 - 500, max: TIER_3 + TIER_4 + 500 }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(number, { minLength: 2, maxLength: 200 }), (numbers) => {
        expect(new Set(numbers.map(encodeHandle)).size).toBe(numbers.length);
      }),
    );
  });

  it("starts with a letter and has no ambiguous characters", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (n) => {
        const handle = encodeHandle(n);
        expect(handle).toMatch(/^[a-z][a-z2-9]+$/);
        expect(handle).not.toMatch(/[01oil]/);
        expect(isHandle(handle)).toBe(true);
        expect(isSessionId(handle)).toBe(true);
      }),
    );
  });

  it("differs from its neighbours in the first characters", () => {
    for (let n = 1; n < 5000; n++) expect(encodeHandle(n).charAt(0)).not.toBe(encodeHandle(n + 1).charAt(0));
  });

  it.each([
    "",
    "k7",
    "777",
    "7kf",
    "k0f",
    "kof",
    "k1f",
    "klf",
    "kif",
    "K7F",
    "k7f ",
    "k7f\n",
    "abcdefghjkmn",
  ])("is not %j", (text) => {
    expect(isHandle(text)).toBe(false);
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("is refused for session %d", (n) => {
    expect(() => encodeHandle(n)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });
});

/** Includes lone surrogates, and many control characters. */
const anyCharacter = fc
  .oneof(fc.nat(0xff), fc.integer({ min: 0x2000, max: 0x2070 }), fc.nat(0x10ffff))
  .map((code) => String.fromCodePoint(code));

function refusal(id: string): string {
  try {
    assertSessionId(id);
  } catch (error) {
    if (error instanceof PostriderError) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}
