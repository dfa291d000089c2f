import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MAX_PART_BYTES } from "../core/message.ts";
import { type MessageInput, prepareMessages } from "./message-input.ts";

const bytes = new Uint8Array([1, 2, 3]);
const hash = createHash("sha256").update(bytes).digest("hex");
const catchError = (input: unknown) => {
  try {
    prepareMessages(input as MessageInput);
  } catch (error) {
    return error;
  }
  return undefined;
};

describe("the input of a message", () => {
  it("can be one or several messages, plain text or parts", () => {
    const text = { type: "text", text: "hello" } as const;
    expect(prepareMessages({ role: "user", text: "hello" }).messages).toEqual([
      { role: "user", parts: [text] },
    ]);
    expect(
      prepareMessages([
        { role: "user", parts: [text, text] },
        { role: "assistant", text: "" },
      ]).messages,
    ).toEqual([
      { role: "user", parts: [text, text] },
      { role: "assistant", parts: [{ type: "text", text: "" }] },
    ]);
    expect(prepareMessages([])).toEqual({ messages: [], blobs: [] });
  });

  it("keeps its other fields, and is not modified", () => {
    const given = Object.freeze({
      role: "assistant",
      text: "x",
      at: 7,
      reasoning: "r",
      tokens: 0,
      toolCalls: [{ id: "c", name: "n", arguments: { a: 1 } }],
      extra: { b: [null] },
    } as const);
    const { text, ...rest } = given;
    expect(prepareMessages(given).messages).toEqual([{ ...rest, parts: [{ type: "text", text }] }]);
  });

  it("contains bytes, which are then referred to by their hash, once", () => {
    const { messages, blobs } = prepareMessages([
      { role: "user", parts: [{ type: "image", mimeType: "image/png", name: "a.png", data: bytes }] },
      { role: "user", parts: [{ type: "file", mimeType: "text/plain", data: Buffer.from(bytes) }] },
    ]);
    expect(messages.map(({ parts }) => parts)).toEqual([
      [{ type: "image", mimeType: "image/png", name: "a.png", blob: hash, size: 3 }],
      [{ type: "file", mimeType: "text/plain", blob: hash, size: 3 }],
    ]);
    expect(blobs).toHaveLength(1);
    expect(blobs[0]?.hash).toBe(hash);
  });

  it("can refer to stored bytes", () => {
    const part = { type: "file", mimeType: "text/plain", blob: hash, size: 3 } as const;
    expect(prepareMessages({ role: "user", parts: [part] })).toEqual({
      messages: [{ role: "user", parts: [part] }],
      blobs: [],
    });
  });

  it("is refused with the name of the field that is wrong", () => {
    for (const [input, field] of [
      [undefined, "message"],
      ["hello", "message"],
      [[null], "message"],
      [{ role: "user" }, "parts"],
      [{ role: "robot", text: "x" }, "role"],
      [{ role: "user", text: 5 }, "parts[0].text"],
      [{ role: "user", text: "x", parts: [] }, "text"],
      [{ role: "user", parts: "x" }, "parts"],
      [{ role: "user", parts: [null] }, "parts[0]"],
      [{ role: "user", parts: [{ type: "image", mimeType: "i", data: "AQID" }] }, "parts[0].data"],
      [{ role: "user", parts: [{ type: "image", data: bytes }] }, "parts[0].mimeType"],
      [{ role: "user", text: "x", extra: { when: new Date(0) } }, "extra.when"],
    ] as const)
      expect(catchError(input), field).toMatchObject({ code: "invalid_input", details: { field } });
  });

  it("is refused if its bytes exceed the limit of a part", () => {
    const data = new Uint8Array(MAX_PART_BYTES + 1);
    const file = { type: "file", mimeType: "application/zip", data } as const;
    expect(catchError({ role: "user", parts: [file] })).toMatchObject({
      code: "too_large",
      details: { field: "parts[0].data", limit: MAX_PART_BYTES },
    });
    const most = { ...file, data: data.subarray(1) };
    expect(prepareMessages({ role: "user", parts: [most] }).blobs[0]?.bytes.byteLength).toBe(MAX_PART_BYTES);
  });
});
