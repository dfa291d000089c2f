import { createHash } from "node:crypto";
import { PostriderError } from "../core/errors.ts";
import { checkMessage, MAX_PART_BYTES, type NewMessage, type Part } from "../core/message.ts";
import type { Blob } from "../core/turn.ts";

/** A part with its bytes, which Postrider stores once by hash. */
export interface DataPart {
  readonly type: "image" | "file";
  readonly mimeType: string;
  readonly name?: string;
  readonly data: Uint8Array;
}

/** A message of a library user: plain text, or parts with or without bytes. */
export type MessageInput = Omit<NewMessage, "parts"> &
  (
    | { readonly text: string; readonly parts?: never }
    | { readonly parts: readonly (Part | DataPart)[]; readonly text?: never }
  );

export interface PreparedMessages {
  readonly messages: readonly NewMessage[];
  readonly blobs: readonly Blob[];
}

/** Checks messages and separates their bytes. */
export function prepareMessages(input: MessageInput | readonly MessageInput[]): PreparedMessages {
  const blobs = new Map<string, Blob>();
  const list = Array.isArray(input) ? (input as readonly MessageInput[]) : [input as MessageInput];
  const messages = list.map((one) => {
    if (typeof one !== "object" || one === null) {
      throw invalid("message", "A message must be an object with a role and a text.");
    }
    const { text, ...rest } = one;
    if (text !== undefined && rest.parts !== undefined) {
      throw invalid("text", "A message has either a text or parts, not both.");
    }
    const parts = text === undefined ? rest.parts : [{ type: "text" as const, text }];
    return checkMessage({
      ...rest,
      parts: Array.isArray(parts) ? parts.map((part, index) => preparePart(part, index, blobs)) : parts,
    } as NewMessage);
  });
  return { messages, blobs: [...blobs.values()] };
}

function preparePart(part: Part | DataPart, index: number, blobs: Map<string, Blob>): Part {
  if (typeof part !== "object" || part === null || !("data" in part)) return part as Part;
  const { data, ...rest } = part;
  const blob = createBlob(data, `parts[${index}].data`);
  blobs.set(blob.hash, blob);
  return { ...rest, blob: blob.hash, size: blob.bytes.byteLength };
}

/** Bytes with their hash. */
export function createBlob(bytes: Uint8Array, field: string): Blob {
  if (!(bytes instanceof Uint8Array)) throw invalid(field, `${field} must be bytes (a Uint8Array).`);
  if (bytes.byteLength > MAX_PART_BYTES) {
    throw new PostriderError(
      "too_large",
      `${field} has ${bytes.byteLength} bytes; a part may have ${MAX_PART_BYTES}. Send a link or a smaller file.`,
      { details: { field, bytes: bytes.byteLength, limit: MAX_PART_BYTES } },
    );
  }
  return { hash: createHash("sha256").update(bytes).digest("hex"), bytes };
}

function invalid(field: string, sentence: string): PostriderError {
  return new PostriderError("invalid_input", sentence, { details: { field } });
}
