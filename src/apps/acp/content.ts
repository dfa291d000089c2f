import type { ContentBlock, EmbeddedResourceResource } from "@agentclientprotocol/sdk/unstable";
import { PostriderError } from "../../core/errors.ts";
import { MAX_PART_BYTES, type Part, textPart } from "../../core/message.ts";
import type { DataPart } from "../../sessions/message-input.ts";
import { buildAttachmentUri, getAttachmentName, hasTextInUri } from "./attachment-name.ts";

/**
 * The message parts of a prompt. A URI follows the bytes of an attachment as a separate part, because an agent in the same
 * folder can open it; `toContentBlocks` joins the two again.
 */
export function parsePrompt(prompt: readonly ContentBlock[]): readonly (Part | DataPart)[] {
  let textBytes = 0;
  return prompt.flatMap((block, index) => {
    const parts = parseBlock(block, `prompt[${index}]`);
    for (const part of parts) if ("text" in part) textBytes += Buffer.byteLength(part.text ?? "");
    if (textBytes > MAX_PART_BYTES) throw promptTooLarge(`prompt[${index}]`);
    return parts;
  });
}

/**
 * The text blocks of a prompt and the URIs of its attachments, one per line. Only the first line can be a command, so an
 * attachment in front leaves an empty first line.
 */
export function extractPromptText(prompt: readonly ContentBlock[]): string {
  const lines = prompt.flatMap((block) => {
    if (block.type === "text") return [block.text];
    if (block.type === "resource_link") return [block.uri];
    return block.type === "resource" ? [block.resource.uri] : [];
  });
  return `${prompt[0]?.type === "text" ? "" : "\n"}${lines.join("\n")}`;
}

/** Editors close the connection at a line of more than 32 MiB; base64 needs four bytes for three. */
const MAX_SHOWN_BYTES = 23 * 1024 * 1024;

/** Parts as content blocks of the protocol. Text replaces bytes that are missing or too large for one line. */
export async function loadContentBlocks(
  parts: readonly Part[],
  blob: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<ContentBlock[]> {
  const bytes = new Map<string, Uint8Array | undefined>();
  for (const part of parts)
    if ("blob" in part && part.blob !== undefined) bytes.set(part.blob, await blob(part.blob));
  return toContentBlocks(parts, (hash) => bytes.get(hash));
}

/** The same with bytes that are in memory. */
export function toContentBlocks(
  parts: readonly Part[],
  blob: (hash: string) => Uint8Array | undefined,
): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at];
    if (part === undefined || (part.type === "text" && part.text === "")) continue;
    const hash = "blob" in part ? part.blob : undefined;
    const uri = findAttachedUri(part, parts[at + 1]);
    if (uri !== undefined) at += 1;
    if (hash === undefined) blocks.push(toTextBlock(part));
    else blocks.push(toBinaryBlock(part, blob(hash), uri));
  }
  return blocks;
}

function parseBlock(block: ContentBlock, field: string): readonly (Part | DataPart)[] {
  switch (block.type) {
    case "text":
      return block.text === "" ? [] : [textPart(requireString(block.text, field))];
    case "image": {
      const data = decodeBase64(block.data, field);
      const image = { type: "image", mimeType: requireString(block.mimeType, field), data } as const;
      return block.uri ? attachUri(image, block.uri) : [image];
    }
    case "audio": {
      const data = decodeBase64(block.data, field);
      return [{ type: "file", mimeType: requireString(block.mimeType, field), name: "audio", data }];
    }
    case "resource":
      return parseEmbedded(block.resource, field);
    case "resource_link": {
      const { uri, mimeType, name, title, description } = block;
      if (requireString(uri, field) === "") throw invalidPrompt(field, "is a link without a uri");
      // Leave out words that the URI contains.
      const more = [name, title, description].filter((words) => words && !hasTextInUri(uri, words));
      const caption = [...new Set(more)].join(": ");
      return [
        ...(caption === "" ? [] : [textPart(caption)]),
        { type: "resource", uri, ...pickMimeType(mimeType) },
      ];
    }
    default: {
      const { type } = block as { readonly type: unknown };
      throw invalidPrompt(field, `has the type ${JSON.stringify(type)}, which Postrider does not support`);
    }
  }
}

function parseEmbedded(resource: EmbeddedResourceResource, field: string): readonly (Part | DataPart)[] {
  const { uri, mimeType } = resource;
  requireString(uri, field);
  if ("text" in resource) {
    return [{ type: "resource", uri, ...pickMimeType(mimeType), text: requireString(resource.text, field) }];
  }
  const type = mimeType?.startsWith("image/") ? "image" : "file";
  const data = decodeBase64(resource.blob, field);
  return attachUri({ type, mimeType: mimeType || "application/octet-stream", data }, uri);
}

function attachUri(part: DataPart, uri: string): readonly (Part | DataPart)[] {
  const name = getAttachmentName(uri);
  const named = { ...part, name };
  if (uri === "" || uri === buildAttachmentUri(name)) return [named];
  return [named, { type: "resource", uri, mimeType: part.mimeType }];
}

/** The URI that `attachUri` put after the bytes. */
function findAttachedUri(part: Part, next: Part | undefined): string | undefined {
  if (part.type !== "image" && part.type !== "file") return undefined;
  if (next?.type !== "resource" || next.text !== undefined || next.blob !== undefined) return undefined;
  return next.mimeType === part.mimeType && getAttachmentName(next.uri) === part.name ? next.uri : undefined;
}

function toTextBlock(part: Part): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "resource") return { type: "text", text: `[${part.type} ${part.name ?? ""}]` };
  const { uri, mimeType, text: content } = part;
  if (content === undefined)
    return { type: "resource_link", uri, name: getAttachmentName(uri), ...pickMimeType(mimeType) };
  return { type: "resource", resource: { uri, ...pickMimeType(mimeType), text: content } };
}

function toBinaryBlock(part: Part, bytes: Uint8Array | undefined, address: string | undefined): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  const name = part.type === "resource" ? part.uri : (part.name ?? part.mimeType);
  if (bytes === undefined) return { type: "text", text: `[${part.type} ${name}: no longer stored]` };
  if (bytes.byteLength > MAX_SHOWN_BYTES) {
    return { type: "text", text: `[${part.type} ${name}: ${bytes.byteLength} bytes, too many to show here]` };
  }
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  const { mimeType } = part;
  if (part.type === "image") {
    return { type: "image", mimeType: part.mimeType, data, ...(address !== undefined && { uri: address }) };
  }
  if (part.type === "file" && part.name === "audio" && part.mimeType.startsWith("audio/")) {
    return { type: "audio", mimeType: part.mimeType, data };
  }
  const uri = part.type === "resource" ? part.uri : (address ?? buildAttachmentUri(part.name ?? "file"));
  return { type: "resource", resource: { uri, ...pickMimeType(mimeType), blob: data } };
}

function pickMimeType(mimeType: string | null | undefined): { readonly mimeType?: string } {
  return mimeType ? { mimeType } : {};
}

/** Strict: Node would skip invalid characters and return other bytes. */
function decodeBase64(data: string, field: string): Uint8Array {
  const base64 = requireString(data, field).replaceAll(/\s+/g, "");
  if (base64 === "") throw invalidPrompt(field, "is empty");
  if (base64.length > (MAX_PART_BYTES / 3) * 4 + 4) throw promptTooLarge(field);
  const digits = base64.replace(/={1,2}$/, "");
  // One character at a time: a repetition over the whole text can exceed the stack.
  if (digits === "" || /[^A-Za-z0-9+/]/.test(digits) || digits.length % 4 === 1)
    throw invalidPrompt(field, "is not valid base64");
  const bytes = new Uint8Array(Buffer.from(digits, "base64"));
  if (bytes.byteLength > MAX_PART_BYTES) throw promptTooLarge(field);
  return bytes;
}

function requireString(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw invalidPrompt(field, "has no text where the protocol requires one");
}

function invalidPrompt(field: string, what: string): PostriderError {
  const sentence = `The prompt cannot be read: ${field} ${what}. Postrider stored nothing; send the prompt again without it.`;
  return new PostriderError("invalid_input", sentence, { details: { field } });
}

function promptTooLarge(field: string): PostriderError {
  const sentence = `The prompt cannot be stored: with ${field} it is larger than ${MAX_PART_BYTES} bytes. Send a link or a smaller file.`;
  return new PostriderError("too_large", sentence, { details: { field, limit: MAX_PART_BYTES } });
}
