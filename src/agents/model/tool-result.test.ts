import { describe, expect, it } from "vitest";
import { textPart } from "../../core/message.ts";
import { buildResultMessages } from "./tool-result.ts";

const bytes = new Uint8Array([1, 2, 3]);
const picture = { type: "image", blob: "h", mimeType: "image/png", size: 3 } as const;
const pdf = { type: "file", blob: "p", mimeType: "application/pdf", size: 8, name: "plan.pdf" } as const;
const document = new TextEncoder().encode("%PDF-1.7");
const called = [{ id: "c1", name: "draw", result: { parts: [textPart("Here it is."), picture] } }];
const blob = async (hash: string) => ({ h: bytes, p: document, fake: bytes })[hash];

describe("an image in a tool result", () => {
  it.each(["anthropic", "openai"] as const)("is part of the result for %s", async (provider) => {
    expect(await buildResultMessages(called, provider, blob)).toEqual([
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

  it.each(["openrouter", "compatible"] as const)("follows the result for %s", async (provider) => {
    expect(await buildResultMessages(called, provider, blob)).toMatchObject([
      { role: "tool", content: [{ output: { type: "text", value: "Here it is.\n[image image/png]" } }] },
      {
        role: "user",
        content: [
          { type: "text", text: "[Pictures that the tool draw returned:]" },
          { type: "file", data: bytes, mediaType: "image/png" },
        ],
      },
    ]);
  });

  it("is only named if few providers read its type, its bytes are gone, or the tool failed", async () => {
    const results = [
      { parts: [{ ...picture, mimeType: "image/svg+xml" }] },
      { parts: [{ ...picture, blob: "gone" }] },
    ];
    for (const result of results)
      for (const provider of ["anthropic", "compatible"] as const)
        expect(await buildResultMessages([{ id: "c", name: "draw", result }], provider, blob)).toMatchObject([
          { role: "tool", content: [{ output: { type: "text" } }] },
        ]);
    const failed = { parts: [picture], finishReason: "error" };
    expect(
      await buildResultMessages([{ id: "c", name: "draw", result: failed }], "anthropic", blob),
    ).toMatchObject([
      { role: "tool", content: [{ output: { type: "error-text", value: "[image image/png]" } }] },
    ]);
  });
});

describe("a document in a tool result", () => {
  const result = { parts: [pdf] };

  it.each(["anthropic", "openai"] as const)("is part of the result for %s", async (provider) => {
    const [message] = await buildResultMessages([{ id: "c", name: "draw", result }], provider, blob);
    expect(message).toMatchObject({
      content: [
        {
          output: {
            value: [
              { type: "text", text: "[file plan.pdf]" },
              { type: "file", mediaType: "application/pdf", filename: "plan.pdf", data: { data: document } },
            ],
          },
        },
      ],
    });
  });

  it("is only named for other providers, and if its content is not a document", async () => {
    const named = [{ role: "tool", content: [{ output: { type: "text", value: "[file plan.pdf]" } }] }];
    expect(await buildResultMessages([{ id: "c", name: "draw", result }], "compatible", blob)).toMatchObject(
      named,
    );
    const fake = { parts: [{ ...pdf, blob: "fake" }] };
    expect(
      await buildResultMessages([{ id: "c", name: "draw", result: fake }], "anthropic", blob),
    ).toMatchObject(named);
    const words = { parts: [{ ...pdf, mimeType: "text/plain" }] };
    expect(
      await buildResultMessages([{ id: "c", name: "draw", result: words }], "anthropic", blob),
    ).toMatchObject(named);
  });
});
