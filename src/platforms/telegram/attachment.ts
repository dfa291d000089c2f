import type { Message } from "grammy/types";

/** A file of a message that is not downloaded yet. */
export interface Attachment {
  readonly fileId: string;
  readonly type: "image" | "file";
  /** The kind of file, for people. */
  readonly kind: string;
  readonly mimeType: string;
  readonly name?: string;
  readonly size?: number;
}

/** Image types that models accept. */
const IMAGES: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/webp", "image/gif"]);

export function parseAttachment(message: Message): Attachment | undefined {
  const { photo, animation, document, voice, audio, video, video_note: note } = message;
  const largest = photo?.reduce((best, size) =>
    size.width * size.height > best.width * best.height ? size : best,
  );
  if (largest !== undefined) return buildAttachment("photo", largest, "image/jpeg");
  if (voice !== undefined)
    return buildAttachment("voice message", voice, voice.mime_type ?? "audio/ogg", "voice.ogg");
  if (audio !== undefined)
    return buildAttachment("audio", audio, audio.mime_type ?? "audio/mpeg", audio.file_name);
  if (note !== undefined) return buildAttachment("video message", note, "video/mp4", "video.mp4");
  if (video !== undefined)
    return buildAttachment("video", video, video.mime_type ?? "video/mp4", video.file_name);
  // An animation also has the field `document`.
  const file = animation ?? document;
  if (file === undefined) return undefined;
  return buildAttachment(
    animation === undefined ? "file" : "animation",
    file,
    file.mime_type ?? "application/octet-stream",
    file.file_name,
  );
}

function buildAttachment(
  kind: string,
  file: { readonly file_id: string; readonly file_size?: number },
  mimeType: string,
  name?: string,
): Attachment {
  const cleaned = name === undefined ? undefined : cleanFileName(name);
  return {
    fileId: file.file_id,
    type: IMAGES.has(mimeType) ? "image" : "file",
    kind,
    mimeType: /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/.test(mimeType) ? mimeType : "application/octet-stream",
    ...(cleaned !== undefined && { name: cleaned }),
    ...(file.file_size !== undefined && { size: file.file_size }),
  };
}

const MAX_NAME = 128;

/** The file name without folders and control characters, cut to a length that every file system accepts. */
export function cleanFileName(name: string): string | undefined {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? "";
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .replace(/[<>:"|?*]/g, "_")
    .trim()
    .replace(/^\.+/, "");
  if (clean === "") return undefined;
  if (clean.length <= MAX_NAME) return clean;
  const ending = /\.[^.]{1,10}$/.exec(clean)?.[0] ?? "";
  return `${clean.slice(0, MAX_NAME - ending.length)}${ending}`.toWellFormed();
}
