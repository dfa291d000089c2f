import type { ModelMessage, ToolResultPart } from "ai";
import type { ToolOutput } from "../../ports/tool.ts";
import { wordsOf } from "./prompt.ts";
import type { ProviderName } from "./provider.ts";

/** A call as its provider knows it, and what came of it. */
export interface CalledTool {
  readonly id: string;
  readonly name: string;
  readonly output: ToolOutput;
}

/** Kinds of pictures that every provider reads. */
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** Those whose tool results may hold pictures; the others get them as a message after the results. */
const WITH_PICTURES: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai"]);

/** The results of one round, with the pictures in them, as the provider takes them. */
export function resultMessages(called: readonly CalledTool[], provider: ProviderName): ModelMessage[] {
  if (WITH_PICTURES.has(provider)) return [{ role: "tool", content: called.map(withPictures) }];
  const pictures = called.flatMap(({ name, output }) => {
    const files = picturesIn(output);
    return files.length === 0 ? [] : [{ type: "text" as const, text: `[${name} shows:]` }, ...files];
  });
  const results: ModelMessage = { role: "tool", content: called.map(inWords) };
  return pictures.length === 0 ? [results] : [results, { role: "user", content: pictures }];
}

function inWords({ id, name, output }: CalledTool): ToolResultPart {
  const value = output.parts.map(wordsOf).join("\n");
  const type = output.failed ? "error-text" : "text";
  return { type: "tool-result", toolCallId: id, toolName: name, output: { type, value } };
}

function withPictures(called: CalledTool): ToolResultPart {
  const { id, name, output } = called;
  const files = picturesIn(output).map(({ data, mediaType }) => ({
    type: "file" as const,
    mediaType,
    data: { type: "data" as const, data },
  }));
  // The form of a failure holds words only.
  if (files.length === 0 || output.failed) return inWords(called);
  const text = { type: "text" as const, text: output.parts.map(wordsOf).join("\n") };
  const value = [text, ...files];
  return { type: "tool-result", toolCallId: id, toolName: name, output: { type: "content", value } };
}

function picturesIn({ parts, blobs = [] }: ToolOutput) {
  return parts.flatMap((part) => {
    if (part.type !== "image" || !PICTURES.has(part.mimeType)) return [];
    const bytes = blobs.find(({ hash }) => hash === part.blob)?.bytes;
    return bytes === undefined ? [] : [{ type: "file" as const, data: bytes, mediaType: part.mimeType }];
  });
}
