import type { Part } from "../../core/message.ts";
import type { Outbound } from "../../ports/platform.ts";
import { cleanFileName } from "./attachment.ts";
import { toHtml } from "./format.ts";

export interface OutgoingFile {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly isPhoto: boolean;
}

/** One call of the Bot API. Several files are an album, which is also one call. */
export type SendCall =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "files"; readonly files: readonly OutgoingFile[]; readonly caption?: string };

/** The maximum visible length of a caption. */
const MAX_CAPTION = 1024;
const MAX_PHOTO = 10 * 1024 * 1024;
const MAX_ALBUM_FILES = 10;
const PHOTOS: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/webp"]);

/** The calls to send, in order: as few as possible. A text that is too long for a caption goes before the files. */
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
  const sameKind = files.every(({ isPhoto }) => isPhoto)
    ? files
    : files.map((file) => ({ ...file, isPhoto: false }));
  const albums: Extract<SendCall, { type: "files" }>[] = [];
  for (let at = 0; at < sameKind.length; at += MAX_ALBUM_FILES) {
    albums.push({ type: "files", files: sameKind.slice(at, at + MAX_ALBUM_FILES) });
  }
  return albums;
}

async function loadPart(part: Part, out: Pick<Outbound, "blob">): Promise<OutgoingFile | string> {
  if (part.type === "text") return part.text;
  if (part.type === "resource" && part.blob === undefined) return part.text ?? part.uri;
  const name = part.type === "resource" ? part.uri : (part.name ?? "");
  const bytes = part.blob === undefined ? undefined : await out.blob(part.blob);
  if (bytes === undefined) return `(The file ${name || "of this message"} is no longer stored.)`;
  const mimeType = part.mimeType ?? "";
  return {
    bytes,
    name:
      cleanFileName(name) ?? (part.type === "image" ? `image.${mimeType.split("/")[1] ?? "jpg"}` : "file"),
    isPhoto: part.type === "image" && PHOTOS.has(mimeType) && bytes.byteLength <= MAX_PHOTO,
  };
}
