import type { ModelMessage, ToolResultPart } from "ai";
import type { Message, Part } from "../../core/message.ts";
import { formatMessageText } from "./part-text.ts";
import type { ProviderName } from "./provider.ts";

/** A call under its id in the request, and the stored result. */
export interface CalledTool {
  readonly id: string;
  readonly name: string;
  readonly result: Pick<Message, "parts" | "finishReason">;
}

type ReadBlob = (hash: string) => Promise<Uint8Array | undefined>;

/** Image types that every provider reads. */
const PICTURES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/**
 * Providers whose tool results can contain images and documents; the others get images as a message after the results.
 */
const WITH_FILES: ReadonlySet<ProviderName> = new Set<ProviderName>(["anthropic", "openai"]);
/** Providers refuse a request with a larger document, so it is only named. */
const MAX_DOCUMENT_BYTES = 10 * 1024 * 1024;

interface ResultFile {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly filename?: string;
}

/** The results of one response's calls, with their images, in the provider's form. */
export async function buildResultMessages(
  called: readonly CalledTool[],
  provider: ProviderName,
  blob: ReadBlob,
): Promise<ModelMessage[]> {
  if (called.length === 0) return [];
  if (WITH_FILES.has(provider)) {
    const content = await Promise.all(called.map((call) => toFileResult(call, blob)));
    return [{ role: "tool", content }];
  }
  const pictures = await Promise.all(called.map((call) => loadPictures(call, blob)));
  const results: ModelMessage = { role: "tool", content: called.map(toTextResult) };
  const content = pictures.flat();
  return content.length === 0 ? [results] : [results, { role: "user", content }];
}

function toTextResult({ id, name, result }: CalledTool): ToolResultPart {
  const type = isFailed(result) ? "error-text" : "text";
  return {
    type: "tool-result",
    toolCallId: id,
    toolName: name,
    output: { type, value: formatMessageText(result) },
  };
}

async function toFileResult(called: CalledTool, blob: ReadBlob): Promise<ToolResultPart> {
  const { id, name, result } = called;
  // An error result can contain only text.
  if (isFailed(result)) return toTextResult(called);
  const files = await loadFiles(result.parts, blob, [isPicture, isDocument]);
  if (files.length === 0) return toTextResult(called);
  const value = [
    { type: "text" as const, text: formatMessageText(result) },
    ...files.map(({ bytes, ...file }) => ({
      type: "file" as const,
      ...file,
      data: { type: "data" as const, data: bytes },
    })),
  ];
  return { type: "tool-result", toolCallId: id, toolName: name, output: { type: "content", value } };
}

async function loadPictures({ name, result }: CalledTool, blob: ReadBlob) {
  const files = await loadFiles(result.parts, blob, [isPicture]);
  if (files.length === 0) return [];
  const title = { type: "text" as const, text: `[Pictures that the tool ${name} returned:]` };
  return [title, ...files.map(({ bytes, mediaType }) => ({ type: "file" as const, data: bytes, mediaType }))];
}

type Kind = (part: Part, bytes: Uint8Array) => boolean;

async function loadFiles(
  parts: readonly Part[],
  blob: ReadBlob,
  kinds: readonly Kind[],
): Promise<readonly ResultFile[]> {
  const found: ResultFile[] = [];
  for (const part of parts) {
    if (part.type !== "image" && !(part.type === "file" && part.mimeType === "application/pdf")) continue;
    const bytes = await blob(part.blob);
    if (bytes === undefined || !kinds.some((is) => is(part, bytes))) continue;
    const { mimeType: mediaType, name } = part;
    found.push({
      bytes,
      mediaType,
      ...(part.type === "file" && name !== undefined && { filename: name }),
    });
  }
  return found;
}

function isPicture(part: Part): boolean {
  return part.type === "image" && PICTURES.has(part.mimeType);
}

/** A file that only claims to be a document would make every later request of the session fail. */
function isDocument(part: Part, bytes: Uint8Array): boolean {
  if (part.type !== "file" || bytes.byteLength > MAX_DOCUMENT_BYTES) return false;
  return Buffer.from(bytes.subarray(0, 5)).toString("latin1") === "%PDF-";
}

function isFailed({ finishReason }: CalledTool["result"]): boolean {
  return finishReason === "error";
}
