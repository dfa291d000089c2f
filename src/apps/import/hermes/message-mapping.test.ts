import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MAX_PART_BYTES } from "../../../core/message.ts";
import { createInstantReader } from "./instant-reader.ts";
import { mapMessage } from "./message-mapping.ts";

const from = (record: Record<string, unknown>) => mapMessage(record, createInstantReader("UTC"));
const call = (given: string) => ({
  id: "c1",
  type: "function",
  function: { name: "terminal", arguments: given },
});
const callIn = (given: string) =>
  from({ role: "assistant", tool_calls: [call(given)] }).message.toolCalls?.[0];

describe("a message of another system", () => {
  it("keeps the sender, the text and the time", () => {
    expect(from({ role: "user", content: "hello", timestamp: 1773566677.5 })).toEqual({
      message: { role: "user", parts: [{ type: "text", text: "hello" }], at: 1773566677500 },
      blobs: [],
    });
    expect(from({ role: "assistant", content: null }).message).toEqual({ role: "assistant", parts: [] });
    expect(from({ role: "assistant", content: "" }).message).toEqual({ role: "assistant", parts: [] });
  });

  it("maps calls, results, reasoning, finish reason and tokens", () => {
    const { message } = from({
      role: "assistant",
      content: "",
      tool_calls: [call('{"command":"ls"}')],
      reasoning: "I look.",
      reasoning_details: [{ type: "summary" }],
      codex_reasoning_items: [{ id: "rs_1" }],
      finish_reason: "tool_calls",
      token_count: 12,
    });
    expect(message).toEqual({
      role: "assistant",
      parts: [],
      toolCalls: [{ id: "c1", name: "terminal", arguments: { command: "ls" } }],
      reasoning: "I look.",
      finishReason: "tool_calls",
      tokens: 12,
      extra: { reasoning_details: [{ type: "summary" }], codex_reasoning_items: [{ id: "rs_1" }] },
    });
    expect(from({ role: "tool", content: "a\nb", tool_call_id: "c1", name: "terminal" }).message).toEqual({
      role: "tool",
      parts: [{ type: "text", text: "a\nb" }],
      toolCallId: "c1",
      toolName: "terminal",
    });
  });

  it("keeps arguments as text if they are invalid JSON or if numbers would change", () => {
    expect(callIn("ls -l")?.arguments).toBe("ls -l");
    expect(callIn('{"id":1234567890123456789}')?.arguments).toBe('{"id":1234567890123456789}');
    expect(callIn('{"id":"1234567890123456789"}')?.arguments).toEqual({ id: "1234567890123456789" });
  });

  it("keeps unknown fields under their names", () => {
    const { message } = from({
      role: "user",
      content: "hi",
      name: "Ann",
      message_id: 7,
      nothing: null,
      token_count: -1,
      timestamp: "soon",
      tool_calls: [{ ...call("{}"), extra_content: { signature: "x" } }, "odd"],
    });
    expect(message.extra).toEqual({
      name: "Ann",
      message_id: 7,
      token_count: -1,
      timestamp: "soon",
      tool_calls_rest: [
        { at: 0, extra_content: { signature: "x" } },
        { at: 1, value: "odd" },
      ],
    });
  });

  it.each(["system", "session_meta", "developer", "note"])("becomes a note when its role is %s", (role) => {
    const { message } = from({ role, content: "be brief", tools: ["a"] });
    expect(message).toEqual({
      role: "note",
      parts: [{ type: "text", text: "be brief" }],
      extra: { role, tools: ["a"] },
    });
  });

  it("is marked as proactive if another program sent it", () => {
    const { message } = from({ role: "assistant", content: "news", mirror: true, mirror_source: "cron" });
    expect(message).toMatchObject({
      origin: { proactive: true },
      extra: { mirror: true, mirror_source: "cron" },
    });
  });

  it("keeps lists of texts and images: bytes, addresses, and the rest unchanged", () => {
    const bytes = Buffer.from("not really a picture");
    const hash = createHash("sha256").update(bytes).digest("hex");
    const data = bytes.toString("base64");
    const { message, blobs } = from({
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${data}`, detail: "high" } },
        { type: "input_image", image_url: "https://example.org/a.png" },
        { type: "image", source: { type: "base64", media_type: "image/jpeg", data } },
        { type: "image", source: { type: "url", url: "https://example.org/b.png" } },
        { type: "audio", id: 5 },
        { type: "image_url", image_url: { url: "data:image/png;base64," } },
        "and",
        7,
      ],
    });
    expect(message.parts).toEqual([
      { type: "text", text: "look" },
      { type: "image", blob: hash, mimeType: "image/png", size: bytes.length },
      { type: "resource", uri: "https://example.org/a.png" },
      { type: "image", blob: hash, mimeType: "image/jpeg", size: bytes.length },
      { type: "resource", uri: "https://example.org/b.png" },
      { type: "text", text: "and" },
    ]);
    expect(message.extra?.content_rest).toEqual([
      { at: 1, detail: "high" },
      { at: 5, type: "audio", id: 5 },
      { at: 6, type: "image_url", image_url: { url: "data:image/png;base64," } },
      { at: 8, value: 7 },
    ]);
    expect(new Set(blobs.map((blob) => blob.hash))).toEqual(new Set([hash]));
  });

  it.each(["\0", "\u0001"])("keeps a list that is stored as marked text in a row (%j)", (mark) => {
    const content = `${mark}json:${JSON.stringify([{ type: "text", text: "look" }, "here"])}`;
    expect(from({ role: "user", content }).message.parts).toEqual([
      { type: "text", text: "look" },
      { type: "text", text: "here" },
    ]);
    const broken = `${mark}json:[`;
    expect(from({ role: "user", content: broken }).message.parts).toEqual([{ type: "text", text: broken }]);
  });

  it("is refused with a code if it is too large or nested too deeply", () => {
    const large = "x".repeat(MAX_PART_BYTES + 1);
    expect(() => from({ role: "user", content: large })).toThrow(
      expect.objectContaining({ code: "too_large" }),
    );
    const image = `data:image/png;base64,${Buffer.alloc(MAX_PART_BYTES + 1).toString("base64")}`;
    expect(() => from({ role: "user", content: [{ type: "image_url", image_url: image }] })).toThrow(
      expect.objectContaining({ code: "too_large" }),
    );
    let deep: unknown = 1;
    for (let n = 0; n < 200; n += 1) deep = [deep];
    expect(() => from({ role: "user", content: "x", deep })).toThrow(
      expect.objectContaining({ code: "invalid_input" }),
    );
  });
});
