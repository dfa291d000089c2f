import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PostriderError } from "./errors.ts";
import {
  checkMessage,
  countToolCalls,
  getText,
  MAX_PART_BYTES,
  type NewMessage,
  textPart,
} from "./message.ts";

const blob = "0123456789abcdef".repeat(4);

const full: NewMessage = {
  role: "assistant",
  parts: [
    textPart("hello"),
    { type: "image", blob, mimeType: "image/png", size: 12, name: "a.png" },
    { type: "file", blob, mimeType: "text/plain", size: 0 },
    { type: "resource", uri: "file:///a", mimeType: "text/plain", text: "inside", blob },
    { type: "resource", uri: "file:///b" },
  ],
  at: 1_700_000_000_000,
  toolCalls: [
    { id: "c1", name: "run", arguments: { cmd: ["ls", { deep: null }] } },
    { id: "c2", name: "run", arguments: "not json" },
  ],
  toolCallId: "c0",
  toolName: "run",
  reasoning: "because",
  finishReason: "stop",
  tokens: 0,
  origin: {
    platform: "signal",
    platformMessageId: "1",
    userId: "2",
    userName: "Ann",
    proactive: true,
    interrupted: false,
  },
  extra: { reasoning_details: [{ type: "x", n: 1.5 }], flag: true },
};

describe("a message's text", () => {
  it("is its text parts, joined by line breaks", () => {
    expect(
      getText({ parts: [textPart("one"), { type: "resource", uri: "u", text: "no" }, textPart("two")] }),
    ).toBe("one\ntwo");
    expect(getText({ parts: [textPart("alone")] })).toBe("alone");
    expect(getText({ parts: [] })).toBe("");
  });

  it("counts two parallel tool calls as two, and a tool's answer as none", () => {
    expect(countToolCalls(full)).toBe(2);
    expect(countToolCalls({})).toBe(0);
  });
});

describe("checking a message", () => {
  it("returns a message with all fields unchanged", () => {
    expect(checkMessage(full)).toEqual(full);
    expect(checkMessage({ role: "note", parts: [] })).toEqual({ role: "note", parts: [] });
  });

  it("does not change its input", () => {
    const before = JSON.stringify(full);
    checkMessage(full);
    expect(JSON.stringify(full)).toBe(before);
  });

  it("omits unknown and undefined fields", () => {
    const given = { ...full, session: "k7f", seq: 3, unknown: 1 };
    expect(checkMessage(given)).toEqual(full);
    const loose: unknown = {
      role: "user",
      parts: [textPart("x")],
      at: undefined,
      origin: { platform: undefined },
    };
    expect(Object.keys(checkMessage(loose as NewMessage))).toEqual(["role", "parts", "origin"]);
  });

  it.each<[string, unknown]>([
    ["message", null],
    ["message", "hello"],
    ["message", [full]],
    ["role", { ...full, role: "system" }],
    ["role", { parts: [] }],
    ["parts", { ...full, parts: "hello" }],
    ["parts", { role: "user" }],
    ["parts[0]", { ...full, parts: ["hello"] }],
    ["parts[1].text", { ...full, parts: [textPart("a"), { type: "text", text: 5 }] }],
    ["parts[0].type", { ...full, parts: [{ type: "video" }] }],
    ["parts[0].blob", { ...full, parts: [{ type: "image", blob: "abc", mimeType: "image/png", size: 1 }] }],
    [
      "parts[0].blob",
      { ...full, parts: [{ type: "file", blob: blob.toUpperCase(), mimeType: "a/b", size: 1 }] },
    ],
    ["parts[0].size", { ...full, parts: [{ type: "file", blob, mimeType: "a/b", size: -1 }] }],
    ["parts[0].mimeType", { ...full, parts: [{ type: "file", blob, size: 1 }] }],
    ["parts[0].name", { ...full, parts: [{ type: "file", blob, mimeType: "a/b", size: 1, name: 7 }] }],
    ["parts[0].uri", { ...full, parts: [{ type: "resource" }] }],
    ["parts[0].text", { ...full, parts: [{ type: "resource", uri: "u", text: null }] }],
    ["at", { ...full, at: -1 }],
    ["at", { ...full, at: 1.5 }],
    ["at", { ...full, at: "2026-01-01" }],
    ["tokens", { ...full, tokens: Number.NaN }],
    ["toolCalls", { ...full, toolCalls: {} }],
    ["toolCalls[0].id", { ...full, toolCalls: [{ name: "run", arguments: {} }] }],
    ["toolCalls[0].name", { ...full, toolCalls: [{ id: "1", name: 2, arguments: {} }] }],
    ["toolCalls[0].arguments.a", { ...full, toolCalls: [{ id: "1", name: "x", arguments: { a: 1n } }] }],
    ["toolCallId", { ...full, toolCallId: 7 }],
    ["reasoning", { ...full, reasoning: null }],
    ["origin", { ...full, origin: "signal" }],
    ["origin.userId", { ...full, origin: { userId: 42 } }],
    ["origin.proactive", { ...full, origin: { proactive: 1 } }],
    ["extra", { ...full, extra: [] }],
    ["extra", { ...full, extra: new Map() }],
    ["extra.a", { ...full, extra: { a: () => 1 } }],
    ["extra.a", { ...full, extra: { a: Number.POSITIVE_INFINITY } }],
    ["extra.a[1].b", { ...full, extra: { a: [0, { b: new Date(0) }] } }],
    ["extra.a[0]", { ...full, extra: { a: [undefined] } }],
  ])("names %s when it is wrong (%#)", (field, message) => {
    expect(refusal(message)).toMatchObject({ code: "invalid_input", details: { field } });
  });

  it("refuses circular or too deep data", () => {
    const circle: Record<string, unknown> = {};
    circle.a = circle;
    circle.b = [circle];
    expect(refusal({ ...full, extra: circle })).toMatchObject({
      code: "invalid_input",
      details: { field: "extra.a" },
    });
    let deep: unknown = 1;
    for (let i = 0; i < 50_000; i++) deep = [deep];
    expect(refusal({ ...full, extra: { deep } }).code).toBe("invalid_input");
  });

  it("measures in UTF-8 bytes and names the part that is too large", () => {
    const most = "é".repeat(MAX_PART_BYTES / 2);
    expect(checkMessage({ role: "user", parts: [textPart(most)] }).parts).toHaveLength(1);
    expect(refusal({ role: "user", parts: [textPart("a"), textPart(`${most}x`)] })).toMatchObject({
      code: "too_large",
      details: { field: "parts[1].text" },
    });
    expect(refusal({ role: "user", parts: [textPart("x"), textPart(most)] })).toMatchObject({
      code: "too_large",
      details: { field: "parts" },
    });
    const image = { type: "image", blob, mimeType: "image/png", size: MAX_PART_BYTES + 1 };
    expect(refusal({ role: "user", parts: [image] })).toMatchObject({
      code: "too_large",
      details: { field: "parts[0].size" },
    });
    expect(refusal({ ...full, extra: { a: most } })).toMatchObject({
      code: "too_large",
      details: { field: "extra" },
    });
  });

  it("counts bytes as the database does", () => {
    const end = "aé中😀\udc00\ud800\u0000";
    const room = MAX_PART_BYTES - Buffer.byteLength(end);
    expect(() => checkMessage({ role: "user", parts: [textPart("x".repeat(room) + end)] })).not.toThrow();
    expect(refusal({ role: "user", parts: [textPart("x".repeat(room + 1) + end)] }).code).toBe("too_large");
  });
});

describe("a checked message in a database", () => {
  const db = new Database(":memory:");
  const echo = db.prepare<[string], string>("select ? || ''").pluck();
  db.exec("create table m (text text) strict");
  const insert = db.prepare<[string], string>("insert into m values (?) returning text").pluck();

  it("is returned exactly, with NUL, and with U+FFFD for lone surrogates", () => {
    expect(checkMessage({ role: "user", parts: [textPart("a\ud800b\u0000c")] }).parts).toEqual([
      textPart("a\ufffdb\u0000c"),
    ]);
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "\u0000", "\ud800", "\udc00", "😀", "é", "\ufeff", "\n") }),
        (value) => {
          const checked = getText(checkMessage({ role: "user", parts: [textPart(value)] }));
          expect(insert.get(checked)).toBe(checked);
          expect(checked).toHaveLength(value.length);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("keeps extra data and arguments unchanged through JSON", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (extra) => {
        const checked = checkMessage({
          role: "user",
          parts: [],
          extra,
          toolCalls: [{ id: "", name: "", arguments: extra }],
        });
        expect(checked.extra).toEqual(extra);
        const back: unknown = JSON.parse(echo.get(JSON.stringify(checked.extra)) ?? "");
        expect(JSON.stringify(back)).toBe(JSON.stringify(extra));
      }),
    );
  });
});

function refusal(message: unknown): PostriderError {
  try {
    checkMessage(message as NewMessage);
  } catch (error) {
    if (error instanceof PostriderError) return error;
    throw error;
  }
  throw new Error("the message was accepted");
}
