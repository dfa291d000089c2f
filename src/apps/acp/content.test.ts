import { spawnSync } from "node:child_process";
import type { ContentBlock } from "@agentclientprotocol/sdk/unstable";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseCommand } from "../../core/command-grammar.ts";
import { getText, MAX_PART_BYTES, type Part } from "../../core/message.ts";
import { prepareMessages } from "../../sessions/message-input.ts";
import { extractPromptText, loadContentBlocks, parsePrompt } from "./content.ts";

const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString("base64");
const refusal = (...prompt: unknown[]): unknown => {
  try {
    return parsePrompt(prompt as ContentBlock[]);
  } catch (error) {
    return error;
  }
};

/** The blocks after a round trip through the stored parts. */
async function sentAndShown(prompt: readonly ContentBlock[]): Promise<ContentBlock[]> {
  const { messages, blobs } = prepareMessages({ role: "user", parts: parsePrompt(prompt) });
  const bytes = new Map(blobs.map((blob) => [blob.hash, blob.bytes]));
  return loadContentBlocks(messages[0]?.parts ?? [], async (hash) => bytes.get(hash));
}

const text = (said: string): ContentBlock => ({ type: "text", text: said });

describe("a prompt", () => {
  it("becomes parts: text, pictures, files, resources and links", () => {
    const said = parsePrompt([
      text("look"),
      { type: "image", data: base64("png"), mimeType: "image/png" },
      { type: "audio", data: base64("wav"), mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "file:///a/b.md", mimeType: "text/markdown", text: "# B" } },
      { type: "resource", resource: { uri: "attachment:///x.zip", blob: base64("zip") } },
      { type: "resource_link", uri: "file:///a/c.ts", name: "c.ts" },
    ]);
    expect(said).toEqual([
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: new Uint8Array(Buffer.from("png")) },
      { type: "file", mimeType: "audio/wav", name: "audio", data: new Uint8Array(Buffer.from("wav")) },
      { type: "resource", uri: "file:///a/b.md", mimeType: "text/markdown", text: "# B" },
      {
        type: "file",
        mimeType: "application/octet-stream",
        name: "x.zip",
        data: new Uint8Array(Buffer.from("zip")),
      },
      { type: "resource", uri: "file:///a/c.ts" },
    ]);
  });

  it("keeps the URI of an attachment, so that an agent can open it", () => {
    const uri = "file:///home/a/my%20plan.png?x=1#top";
    const resource = { uri, mimeType: "image/png", blob: base64("png") };
    expect(parsePrompt([{ type: "resource", resource }])).toMatchObject([
      { type: "image", name: "my plan.png" },
      { type: "resource", uri, mimeType: "image/png" },
    ]);
  });

  it("keeps the name and title of a link, unless its URI contains them", () => {
    const link = { type: "resource_link", name: "My notes" } as const;
    expect(parsePrompt([{ ...link, uri: "zed:///thread/7?name=My+notes", title: "My notes" }])).toEqual([
      { type: "resource", uri: "zed:///thread/7?name=My+notes" },
    ]);
    expect(parsePrompt([{ ...link, uri: "db://7", description: "what was decided" }])).toEqual([
      { type: "text", text: "My notes: what was decided" },
      { type: "resource", uri: "db://7" },
    ]);
  });

  it("has its text blocks one per line", () => {
    const parts = parsePrompt([text("one"), text(""), text("two")]) as readonly Part[];
    expect(getText({ parts })).toBe("one\ntwo");
  });

  it.each([
    ["characters that base64 has not", { type: "image", mimeType: "image/png", data: "a*bc" }],
    ["half a byte", { type: "audio", mimeType: "audio/wav", data: "abcde" }],
    ["no data", { type: "image", mimeType: "image/png", data: "" }],
    ["no data in a resource", { type: "resource", resource: { uri: "file:///x", blob: " " } }],
    ["a kind that is not known", { type: "hologram" }],
    ["no text", { type: "text" }],
    ["a link to nowhere", { type: "resource_link", name: "x", uri: "" }],
  ])("is refused for %s, with the number of the block", (_, block) => {
    expect(refusal(text("fine"), block)).toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("prompt[1]"),
      details: { field: "prompt[1]" },
    });
  });

  it("is refused if its bytes or its text are too large", () => {
    const half = text("x".repeat(MAX_PART_BYTES / 2 + 1));
    const large = { type: "image", mimeType: "image/png", data: "A".repeat(MAX_PART_BYTES * 1.4) };
    const justTooLarge = { ...large, data: base64(new Uint8Array(MAX_PART_BYTES + 1)) };
    for (const prompt of [
      [text("fine"), large],
      [text("fine"), justTooLarge],
      [half, half],
    ]) {
      expect(refusal(...prompt)).toMatchObject({ code: "too_large", details: { field: "prompt[1]" } });
    }
    expect(refusal({ ...large, data: base64(new Uint8Array(MAX_PART_BYTES)) })).toHaveLength(1);
  });

  it("is accepted at any size below the limit, also where regular expressions are interpreted", () => {
    // Like a process that has run for a long time: there, a repetition uses the stack.
    const script = `
      import { parsePrompt } from ${JSON.stringify(new URL("./content.ts", import.meta.url).href)};
      const data = "A".repeat(${(MAX_PART_BYTES / 5) * 4});
      parsePrompt([{ type: "image", mimeType: "image/png", data }]);`;
    const flags = [
      "--no-regexp-optimization",
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
    ];
    const { status, stderr } = spawnSync(process.execPath, [...flags, "-e", script], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("accepts base64 with line breaks and without padding", () => {
    const [part] = parsePrompt([{ type: "image", mimeType: "image/png", data: "aGVs\r\nbG8" }]);
    expect(part).toMatchObject({ data: new Uint8Array(Buffer.from("hello")) });
  });

  it("survives a round trip, whatever its blocks", async () => {
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 50 }).map(base64);
    const segment = fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }).map(encodeURIComponent);
    const uri = segment.map((name) => `file:///project/${name}`);
    const mimeType = fc.constantFrom("text/x-a", "application/pdf", "video/mp4");
    const kinds = fc.oneof(
      fc.string({ minLength: 1, unit: "grapheme" }).map(text),
      fc.record({ type: fc.constant("image" as const), data: bytes, mimeType: fc.constant("image/png") }),
      fc.record({
        type: fc.constant("image" as const),
        data: bytes,
        mimeType: fc.constant("image/gif"),
        uri,
      }),
      fc.record({ type: fc.constant("audio" as const), data: bytes, mimeType: fc.constant("audio/ogg") }),
      fc
        .record({ uri, mimeType, text: fc.string() })
        .map((resource) => ({ type: "resource" as const, resource })),
      fc.record({ uri, mimeType, blob: bytes }).map((resource) => ({ type: "resource" as const, resource })),
      uri.map((link) => ({ type: "resource_link" as const, uri: link, name: link })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(kinds, { maxLength: 6 }), async (prompt) => {
        const shown = await sentAndShown(prompt);
        const named = prompt.map((block) =>
          block.type === "resource_link" ? { ...block, name: expect.any(String) } : block,
        );
        expect(shown).toEqual(named);
      }),
    );
  });
});

describe("the text of a prompt", () => {
  const link = { type: "resource_link", uri: "file:///a.md", name: "a.md" } as const;

  it("is a command if the prompt starts with one; an attachment is an argument", () => {
    expect(parseCommand(extractPromptText([text("/title Plans "), text("of May")]))).toEqual({
      name: "title",
      args: "Plans \nof May",
    });
    expect(parseCommand(extractPromptText([text("/read "), link]))).toEqual({
      name: "read",
      args: "file:///a.md",
    });
  });

  it("is no command after another block", () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" } as const;
    expect(parseCommand(extractPromptText([image, text("/undo")]))).toBeUndefined();
    expect(parseCommand(extractPromptText([{ ...link, uri: "/undo" }]))).toBeUndefined();
    expect(extractPromptText([image, text("hello")]).trim()).toBe("hello");
  });
});

describe("the content blocks of parts", () => {
  const hash = "0".repeat(64);

  it("are text if the bytes are missing or too many for one line", async () => {
    const image = { type: "image", blob: hash, mimeType: "image/png", size: 3, name: "a.png" } as const;
    expect(await loadContentBlocks([image], async () => undefined)).toEqual([
      text("[image a.png: no longer stored]"),
    ]);
    const [block] = await loadContentBlocks([image], async () => new Uint8Array(MAX_PART_BYTES));
    expect(block).toMatchObject({ type: "text", text: expect.stringContaining("too many") });
  });

  it("have a generated URI for a file that has only a name", async () => {
    const file = {
      type: "file",
      blob: hash,
      mimeType: "application/pdf",
      size: 1,
      name: "a/b c.pdf",
    } as const;
    expect(await loadContentBlocks([file], async () => new Uint8Array([1]))).toEqual([
      {
        type: "resource",
        resource: { uri: "attachment:///a%2Fb%20c.pdf", mimeType: "application/pdf", blob: "AQ==" },
      },
    ]);
  });

  it("contain the bytes of a resource with a blob", async () => {
    const resource = { type: "resource", uri: "db://7", blob: hash } as const;
    expect(await loadContentBlocks([resource], async () => new Uint8Array([1]))).toEqual([
      { type: "resource", resource: { uri: "db://7", blob: "AQ==" } },
    ]);
  });
});
