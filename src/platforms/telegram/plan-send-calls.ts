import type { Part } from "../../core/message.ts";
import type { Outbound } from "../../ports/platform.ts";
import { cleanFileName } from "./attachment.ts";
import { toHtml } from "./format.ts";

export interface OutgoingFile {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly isPhoto: boolean;
}

/** One call. Several files are an album, which is one call too. */
export type SendCall =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "files"; readonly files: readonly OutgoingFile[]; readonly caption?: string };

/** The longest text that can stand below a file, as people read it. */
const MAX_CAPTION = 1024;
const MAX_PHOTO = 10 * 1024 * 1024;
const MOST_IN_ALBUM = 10;
const PHOTOS: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/webp"]);

/**
 * What has to be sent, in order. One call wherever Telegram can take it as one: a text, or files with their caption. A
 * text that is too long for a caption goes before the files.
 */
export async function planSendCalls(
  out: Pick<Outbound, "parts" | "blob" | "buttons">,
): Promise<readonly SendCall[]> {
  const files: OutgoingFile[] = [];
  const texts: string[] = [];
  for (const part of out.parts) {
    const file = await loadPart(part, out);
    if (typeof file === "object") files.push(file);
    else if (file.trim() !== "") texts.push(file);
  }
  const text = texts.join("\n\n");
  const hasText = text !== "";
  const [first, ...more] = groupIntoAlbums(files);
  if (first === undefined) return hasText ? [{ type: "text", text }] : [];
  // An album cannot have buttons.
  const fits = hasText && toHtml(text).text.length <= MAX_CAPTION && text.length <= MAX_CAPTION * 2;
  if (fits && (out.buttons === undefined || files.length === 1)) {
    return [{ ...first, caption: text }, ...more];
  }
  return hasText ? [{ type: "text", text }, first, ...more] : [first, ...more];
}

function groupIntoAlbums(files: readonly OutgoingFile[]): Extract<SendCall, { type: "files" }>[] {
  // Photos and other files cannot be in one album.
  const alike = files.every(({ isPhoto }) => isPhoto)
    ? files
    : files.map((file) => ({ ...file, isPhoto: false }));
  const albums: Extract<SendCall, { type: "files" }>[] = [];
  for (let at = 0; at < alike.length; at += MOST_IN_ALBUM) {
    albums.push({ type: "files", files: alike.slice(at, at + MOST_IN_ALBUM) });
  }
  return albums;
}

async function loadPart(part: Part, out: Pick<Outbound, "blob">): Promise<OutgoingFile | string> {
  if (part.type === "text") return part.text;
  if (part.type === "resource" && part.blob === undefined) return part.text ?? part.uri;
  const called = part.type === "resource" ? part.uri : (part.name ?? "");
  const bytes = part.blob === undefined ? undefined : await out.blob(part.blob);
  if (bytes === undefined) return `(The file ${called || "that belongs here"} is no longer stored.)`;
  const mimeType = part.mimeType ?? "";
  return {
    bytes,
    name:
      cleanFileName(called) ?? (part.type === "image" ? `image.${mimeType.split("/")[1] ?? "jpg"}` : "file"),
    isPhoto: part.type === "image" && PHOTOS.has(mimeType) && bytes.byteLength <= MAX_PHOTO,
  };
}
