import { createHash } from "node:crypto";
import { PostriderError } from "../core/errors.ts";
import { checkMessage, MAX_PART_BYTES, type NewMessage, type Part } from "../core/message.ts";
import type { Blob } from "../core/turn.ts";

/** Bytes that come with the message; Postrider stores them once, by hash. */
export interface DataPart {
  readonly type: "image" | "file";
  readonly mimeType: string;
  readonly name?: string;
  readonly data: Uint8Array;
}

/** A message as a program gives it: plain text, or parts whose bytes may come along. */
export type MessageInput = Omit<NewMessage, "parts"> &
  (
    | { readonly text: string; readonly parts?: never }
    | { readonly parts: readonly (Part | DataPart)[]; readonly text?: never }
  );

export interface ReadyMessages {
  readonly messages: readonly NewMessage[];
  readonly blobs: readonly Blob[];
}

/** Checks messages at the edge, once, and takes their bytes apart from them. */
export function readyMessages(input: MessageInput | readonly MessageInput[]): ReadyMessages {
  const blobs = new Map<string, Blob>();
  const list = Array.isArray(input) ? (input as readonly MessageInput[]) : [input as MessageInput];
  const messages = list.map((one) => {
    if (typeof one !== "object" || one === null) {
      throw new PostriderError("invalid_input", "A message must be an object with a role and a text.", {
        details: { field: "message" },
      });
    }
    const { text, ...rest } = one;
    const parts = text === undefined ? one.parts : [{ type: "text" as const, text }];
    return checkMessage({
      ...rest,
      parts: Array.isArray(parts) ? parts.map((part, index) => storable(part, index, blobs)) : parts,
    } as NewMessage);
  });
  return { messages, blobs: [...blobs.values()] };
}

function storable(part: Part | DataPart, index: number, blobs: Map<string, Blob>): Part {
  if (typeof part !== "object" || part === null || !("data" in part)) return part as Part;
  const { data, ...rest } = part;
  const field = `parts[${index}].data`;
  if (!(data instanceof Uint8Array)) {
    throw new PostriderError("invalid_input", `${field} must be bytes (a Uint8Array).`, {
      details: { field },
    });
  }
  if (data.byteLength > MAX_PART_BYTES) {
    throw new PostriderError(
      "too_large",
      `${field} has ${data.byteLength} bytes; a part may have ${MAX_PART_BYTES}. Send a link or a smaller file.`,
      { details: { field, bytes: data.byteLength, limit: MAX_PART_BYTES } },
    );
  }
  const hash = createHash("sha256").update(data).digest("hex");
  blobs.set(hash, { hash, bytes: data });
  return { ...rest, blob: hash, size: data.byteLength };
}
