import { describe, expect, it } from "vitest";
import { text } from "../../core/message.ts";
import { resultMessages } from "./tool-result.ts";

const bytes = new Uint8Array([1, 2, 3]);
const picture = { type: "image", blob: "h", mimeType: "image/png", size: 3 } as const;
const output = { parts: [text("Here it is."), picture], blobs: [{ hash: "h", bytes }] };
const called = [{ id: "c1", name: "draw", output }];

describe("a picture in what a tool gives back", () => {
  it.each(["anthropic", "openai"] as const)("is part of the result for %s", (provider) => {
    expect(resultMessages(called, provider)).toEqual([
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "c1",
            toolName: "draw",
            output: {
              type: "content",
              value: [
                { type: "text", text: "Here it is.\n[image image/png]" },
                { type: "file", mediaType: "image/png", data: { type: "data", data: bytes } },
              ],
            },
          },
        ],
      },
    ]);
  });

  it.each(["openrouter", "compatible"] as const)("follows the result for %s", (provider) => {
    expect(resultMessages(called, provider)).toMatchObject([
      { role: "tool", content: [{ output: { type: "text", value: "Here it is.\n[image image/png]" } }] },
      {
        role: "user",
        content: [
          { type: "text", text: "[draw shows:]" },
          { type: "file", data: bytes, mediaType: "image/png" },
        ],
      },
    ]);
  });

  it("is only named where its kind is read by few, or its bytes are gone", () => {
    const svg = { ...output, parts: [{ ...picture, mimeType: "image/svg+xml" }] };
    for (const given of [svg, { parts: [picture] }])
      for (const provider of ["anthropic", "compatible"] as const)
        expect(resultMessages([{ id: "c", name: "draw", output: given }], provider)).toMatchObject([
          { role: "tool", content: [{ output: { type: "text" } }] },
        ]);
  });
});
