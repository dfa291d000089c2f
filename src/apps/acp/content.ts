import type { ContentBlock, EmbeddedResourceResource } from "@agentclientprotocol/sdk/unstable";
import { PostriderError } from "../../core/errors.ts";
import { MAX_PART_BYTES, type Part, text } from "../../core/message.ts";
import type { DataPart } from "../../sessions/message-input.ts";
import { addressOf, nameIn, tells } from "./attachment-name.ts";

/**
 * What an editor's prompt says, as it is stored. Bytes that have an address are followed by it, because an agent that
 * works in the same folder can go there; `blocksOf` puts the two together again. Nothing is written.
 */
export function saidIn(prompt: readonly ContentBlock[]): readonly (Part | DataPart)[] {
  let words = 0;
  return prompt.flatMap((block, index) => {
    const parts = partsOf(block, `prompt[${index}]`);
    for (const part of parts) if ("text" in part) words += Buffer.byteLength(part.text ?? "");
    if (words > MAX_PART_BYTES) throw tooLarge(`prompt[${index}]`);
    return parts;
  });
}

/**
 * The words of a prompt, one block under the other, with the addresses of what is attached between them. A command is
 * one only where the prompt begins with it, so whatever else stands first leaves an empty line.
 */
export function wordsOf(prompt: readonly ContentBlock[]): string {
  const lines = prompt.flatMap((block) => {
    if (block.type === "text") return [block.text];
    if (block.type === "resource_link") return [block.uri];
    return block.type === "resource" ? [block.resource.uri] : [];
  });
  return `${prompt[0]?.type === "text" ? "" : "\n"}${lines.join("\n")}`;
}

/** A line of the protocol has 32 MiB at most, or the editor hangs up; base64 makes four bytes of three. */
const MOST_SHOWN_BYTES = 23 * 1024 * 1024;

/** Parts as an editor shows them. Bytes that are gone, or too many for one line, are told of in words. */
export async function blocksOf(
  parts: readonly Part[],
  blob: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<ContentBlock[]> {
  const bytes = new Map<string, Uint8Array | undefined>();
  for (const part of parts)
    if ("blob" in part && part.blob !== undefined) bytes.set(part.blob, await blob(part.blob));
  return blocksWith(parts, (hash) => bytes.get(hash));
}

/** The same where the bytes are at hand. */
export function blocksWith(
  parts: readonly Part[],
  blob: (hash: string) => Uint8Array | undefined,
): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at];
    if (part === undefined || (part.type === "text" && part.text === "")) continue;
    const hash = "blob" in part ? part.blob : undefined;
    const uri = addressAfter(part, parts[at + 1]);
    if (uri !== undefined) at += 1;
    if (hash === undefined) blocks.push(wordBlock(part));
    else blocks.push(byteBlock(part, blob(hash), uri));
  }
  return blocks;
}

function partsOf(block: ContentBlock, field: string): readonly (Part | DataPart)[] {
  switch (block.type) {
    case "text":
      return block.text === "" ? [] : [text(string(block.text, field))];
    case "image": {
      const data = bytesIn(block.data, field);
      const image = { type: "image", mimeType: string(block.mimeType, field), data } as const;
      return block.uri ? withAddress(image, block.uri) : [image];
    }
    case "audio": {
      const data = bytesIn(block.data, field);
      return [{ type: "file", mimeType: string(block.mimeType, field), name: "audio", data }];
    }
    case "resource":
      return embedded(block.resource, field);
    case "resource_link": {
      const { uri, mimeType, name, title, description } = block;
      if (string(uri, field) === "") throw invalid(field, "is a link that has no uri");
      // What the address tells already need not be said.
      const more = [name, title, description].filter((said) => said && !tells(uri, said));
      const caption = [...new Set(more)].join(": ");
      return [...(caption === "" ? [] : [text(caption)]), { type: "resource", uri, ...typed(mimeType) }];
    }
    default: {
      const { type } = block as { readonly type: unknown };
      throw invalid(field, `is of the type ${JSON.stringify(type)}, which Postrider does not know`);
    }
  }
}

function embedded(resource: EmbeddedResourceResource, field: string): readonly (Part | DataPart)[] {
  const { uri, mimeType } = resource;
  string(uri, field);
  if ("text" in resource) {
    return [{ type: "resource", uri, ...typed(mimeType), text: string(resource.text, field) }];
  }
  const type = mimeType?.startsWith("image/") ? "image" : "file";
  const data = bytesIn(resource.blob, field);
  return withAddress({ type, mimeType: mimeType || "application/octet-stream", data }, uri);
}

function withAddress(part: DataPart, uri: string): readonly (Part | DataPart)[] {
  const name = nameIn(uri);
  const named = { ...part, name };
  if (uri === "" || uri === addressOf(name)) return [named];
  return [named, { type: "resource", uri, mimeType: part.mimeType }];
}

/** The address that `withAddress` put after bytes. */
function addressAfter(part: Part, next: Part | undefined): string | undefined {
  if (part.type !== "image" && part.type !== "file") return undefined;
  if (next?.type !== "resource" || next.text !== undefined || next.blob !== undefined) return undefined;
  return next.mimeType === part.mimeType && nameIn(next.uri) === part.name ? next.uri : undefined;
}

function wordBlock(part: Part): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "resource") return { type: "text", text: `[${part.type} ${part.name ?? ""}]` };
  const { uri, mimeType, text: content } = part;
  if (content === undefined) return { type: "resource_link", uri, name: nameIn(uri), ...typed(mimeType) };
  return { type: "resource", resource: { uri, ...typed(mimeType), text: content } };
}

function byteBlock(part: Part, bytes: Uint8Array | undefined, address: string | undefined): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  const name = part.type === "resource" ? part.uri : (part.name ?? part.mimeType);
  if (bytes === undefined) return { type: "text", text: `[${part.type} ${name}: no longer stored]` };
  if (bytes.byteLength > MOST_SHOWN_BYTES) {
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
  const uri = part.type === "resource" ? part.uri : (address ?? addressOf(part.name ?? "file"));
  return { type: "resource", resource: { uri, ...typed(mimeType), blob: data } };
}

function typed(mimeType: string | null | undefined): { readonly mimeType?: string } {
  return mimeType ? { mimeType } : {};
}

/** Strict, where Node would skip what it does not know and give other bytes than were meant. */
function bytesIn(data: string, field: string): Uint8Array {
  const base64 = string(data, field).replaceAll(/\s+/g, "");
  if (base64 === "") throw invalid(field, "is empty");
  if (base64.length > (MAX_PART_BYTES / 3) * 4 + 4) throw tooLarge(field);
  const digits = /^([A-Za-z0-9+/]+)={0,2}$/.exec(base64)?.[1];
  if (digits === undefined || digits.length % 4 === 1) throw invalid(field, "is no valid base64");
  const bytes = new Uint8Array(Buffer.from(digits, "base64"));
  if (bytes.byteLength > MAX_PART_BYTES) throw tooLarge(field);
  return bytes;
}

function string(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw invalid(field, "lacks a text where one must be");
}

function invalid(field: string, what: string): PostriderError {
  const sentence = `The prompt cannot be read: ${field} ${what}. Nothing of it was stored; send it again without that.`;
  return new PostriderError("invalid_input", sentence, { details: { field } });
}

function tooLarge(field: string): PostriderError {
  const sentence = `The prompt cannot be stored: with ${field} it is larger than ${MAX_PART_BYTES} bytes. Send a link or a smaller file.`;
  return new PostriderError("too_large", sentence, { details: { field, limit: MAX_PART_BYTES } });
}
