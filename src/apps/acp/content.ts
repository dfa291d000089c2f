import type { ContentBlock, EmbeddedResourceResource } from "@agentclientprotocol/sdk/unstable";
import { PostriderError } from "../../core/errors.ts";
import { MAX_PART_BYTES, type Part, textPart } from "../../core/message.ts";
import type { DataPart } from "../../sessions/message-input.ts";
import { buildAttachmentUri, getAttachmentName, hasTextInUri } from "./attachment-name.ts";

/**
 * What an editor's prompt says, as it is stored. Bytes that have an address are followed by it, because an agent that
 * works in the same folder can go there; `blocksOf` puts the two together again. Nothing is written.
 */
export function parsePrompt(prompt: readonly ContentBlock[]): readonly (Part | DataPart)[] {
  let words = 0;
  return prompt.flatMap((block, index) => {
    const parts = parseBlock(block, `prompt[${index}]`);
    for (const part of parts) if ("text" in part) words += Buffer.byteLength(part.text ?? "");
    if (words > MAX_PART_BYTES) throw promptTooLarge(`prompt[${index}]`);
    return parts;
  });
}

/**
 * The words of a prompt, one block under the other, with the addresses of what is attached between them. A command is
 * one only where the prompt begins with it, so whatever else stands first leaves an empty line.
 */
export function extractPromptText(prompt: readonly ContentBlock[]): string {
  const lines = prompt.flatMap((block) => {
    if (block.type === "text") return [block.text];
    if (block.type === "resource_link") return [block.uri];
    return block.type === "resource" ? [block.resource.uri] : [];
  });
  return `${prompt[0]?.type === "text" ? "" : "\n"}${lines.join("\n")}`;
}

/** A line of the protocol has 32 MiB at most, or the editor hangs up; base64 makes four bytes of three. */
const MAX_SHOWN_BYTES = 23 * 1024 * 1024;

/** Parts as an editor shows them. Bytes that are gone, or too many for one line, are told of in words. */
export async function loadContentBlocks(
  parts: readonly Part[],
  blob: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<ContentBlock[]> {
  const bytes = new Map<string, Uint8Array | undefined>();
  for (const part of parts)
    if ("blob" in part && part.blob !== undefined) bytes.set(part.blob, await blob(part.blob));
  return toContentBlocks(parts, (hash) => bytes.get(hash));
}

/** The same where the bytes are at hand. */
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
      if (requireString(uri, field) === "") throw invalidPrompt(field, "is a link that has no uri");
      // What the address tells already need not be said.
      const more = [name, title, description].filter((said) => said && !hasTextInUri(uri, said));
      const caption = [...new Set(more)].join(": ");
      return [
        ...(caption === "" ? [] : [textPart(caption)]),
        { type: "resource", uri, ...pickMimeType(mimeType) },
      ];
    }
    default: {
      const { type } = block as { readonly type: unknown };
      throw invalidPrompt(field, `is of the type ${JSON.stringify(type)}, which Postrider does not know`);
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

/** The address that `withAddress` put after bytes. */
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

/** Strict, where Node would skip what it does not know and give other bytes than were meant. */
function decodeBase64(data: string, field: string): Uint8Array {
  const base64 = requireString(data, field).replaceAll(/\s+/g, "");
  if (base64 === "") throw invalidPrompt(field, "is empty");
  if (base64.length > (MAX_PART_BYTES / 3) * 4 + 4) throw promptTooLarge(field);
  const digits = /^([A-Za-z0-9+/]+)={0,2}$/.exec(base64)?.[1];
  if (digits === undefined || digits.length % 4 === 1) throw invalidPrompt(field, "is no valid base64");
  const bytes = new Uint8Array(Buffer.from(digits, "base64"));
  if (bytes.byteLength > MAX_PART_BYTES) throw promptTooLarge(field);
  return bytes;
}

function requireString(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw invalidPrompt(field, "lacks a text where one must be");
}

function invalidPrompt(field: string, what: string): PostriderError {
  const sentence = `The prompt cannot be read: ${field} ${what}. Nothing of it was stored; send it again without that.`;
  return new PostriderError("invalid_input", sentence, { details: { field } });
}

function promptTooLarge(field: string): PostriderError {
  const sentence = `The prompt cannot be stored: with ${field} it is larger than ${MAX_PART_BYTES} bytes. Send a link or a smaller file.`;
  return new PostriderError("too_large", sentence, { details: { field, limit: MAX_PART_BYTES } });
}
