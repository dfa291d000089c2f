import type { Part } from "../../../core/message.ts";
import type { Blob } from "../../../core/turn.ts";
import { createBlob } from "../../../sessions/message-input.ts";
import { parseJson } from "./lossless-json.ts";

/** The content of a message: its parts, the bytes of its images, and the fields that no part can hold. */
export interface MappedContent {
  readonly parts: readonly Part[];
  readonly blobs: readonly Blob[];
  /** By index in the original list. */
  readonly rest: readonly Readonly<Record<string, unknown>>[];
}

type ContentFields = Readonly<Record<string, unknown>>;

/** Maps content: a text, nothing, or a list of texts and images in a provider's format. */
export function mapContent(value: unknown): MappedContent {
  if (value === null || value === undefined || value === "") return { parts: [], blobs: [], rest: [] };
  if (typeof value === "string") {
    const list = parseMarkedList(value);
    if (list !== undefined) return mapContent(list);
    return { parts: [{ type: "text", text: value }], blobs: [], rest: [] };
  }
  if (typeof value === "number" || typeof value === "boolean") return mapContent(String(value));
  const parts: Part[] = [];
  const blobs: Blob[] = [];
  const rest: ContentFields[] = [];
  for (const [at, item] of (Array.isArray(value) ? value : [value]).entries()) {
    const { part, blob, left } = mapItem(item);
    if (part !== undefined) parts.push(part);
    if (blob !== undefined) blobs.push(blob);
    if (left !== undefined) rest.push({ at, ...left });
  }
  return { parts, blobs, rest };
}

/** Newer versions store a list in the text column, after a control character as marker. */
function parseMarkedList(text: string): object | undefined {
  const mark = text.charCodeAt(0);
  if (mark > 1 || !text.startsWith("json:", 1)) return undefined;
  try {
    const value = parseJson(text.slice("?json:".length));
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface MappedItem {
  readonly part?: Part;
  readonly blob?: Blob;
  readonly left?: ContentFields;
}

function mapItem(item: unknown): MappedItem {
  if (typeof item === "string") return { part: { type: "text", text: item } };
  if (typeof item !== "object" || item === null || Array.isArray(item)) return { left: { value: item } };
  const { type, ...fields } = item as ContentFields;
  switch (type) {
    case "text":
    case "input_text":
    case "output_text": {
      const { text, ...left } = fields;
      if (typeof text === "string") return { part: { type: "text", text }, ...keepRemaining(left) };
      break;
    }
    case "image_url":
    case "input_image": {
      const { image_url: image, ...left } = fields;
      const { url, ...more } = typeof image === "string" ? { url: image } : ((image ?? {}) as ContentFields);
      if (typeof url === "string" && url !== "")
        return mapImageUrl(url, { ...more, ...left }, item as ContentFields);
      break;
    }
    case "image": {
      // Anthropic's format: `source` has the bytes or the address.
      const { source, ...left } = fields;
      const { type: form, media_type: mime, data, url, ...more } = (source ?? {}) as ContentFields;
      if (form === "url" && typeof url === "string")
        return mapImageUrl(url, { ...more, ...left }, item as ContentFields);
      if (typeof data === "string" && typeof mime === "string")
        return mapImageUrl(`data:${mime};base64,${data}`, { ...more, ...left }, item as ContentFields);
      break;
    }
  }
  return { left: item as ContentFields };
}

/** A data URL becomes an image; any other URL stays a resource. */
function mapImageUrl(url: string, left: ContentFields, whole: ContentFields): MappedItem {
  if (!url.startsWith("data:")) return { part: { type: "resource", uri: url }, ...keepRemaining(left) };
  const comma = url.indexOf(",");
  const [mime = "", ...options] = url.slice("data:".length, comma).split(";");
  const bytes = comma === -1 ? undefined : decodeBytes(url.slice(comma + 1), options.includes("base64"));
  if (bytes === undefined || bytes.length === 0) return { left: whole };
  const blob = createBlob(bytes, "content");
  const mimeType = mime === "" ? "application/octet-stream" : mime;
  const type = mimeType.startsWith("image/") ? "image" : "file";
  return {
    part: { type, blob: blob.hash, mimeType, size: blob.bytes.byteLength },
    blob,
    ...keepRemaining(left),
  };
}

function decodeBytes(text: string, base64: boolean): Uint8Array | undefined {
  if (base64) return new Uint8Array(Buffer.from(text, "base64"));
  try {
    return new Uint8Array(Buffer.from(decodeURIComponent(text)));
  } catch {
    return undefined;
  }
}

function keepRemaining(left: ContentFields): { readonly left?: ContentFields } {
  return Object.keys(left).length === 0 ? {} : { left };
}
