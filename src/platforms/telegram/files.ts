import { createHash } from "node:crypto";
import { type Part, textPart } from "../../core/message.ts";
import type { Blob } from "../../core/turn.ts";
import type { Log } from "../../ports/log.ts";
import { formatTelegramFailure, type TelegramApi } from "./api.ts";
import type { Attachment } from "./attachment.ts";
import { computeRetryDelay, type Timing } from "./timing.ts";

/** Telegram's download limit for bots. */
export const MAX_DOWNLOAD: number = 20 * 1024 * 1024;
const ATTEMPTS = 3;
const ASK_MS = 20_000;
const DOWNLOAD_MS = 90_000;

export interface FetchedFile {
  readonly part: Part;
  readonly blob?: Blob;
}

export interface TelegramFiles {
  /** Downloads the file as a part. If that fails, the part is a text about it, so that the message is not lost. */
  fetch(attachment: Attachment, signal: AbortSignal): Promise<FetchedFile>;
}

type DownloadResult = { readonly bytes: Uint8Array } | { readonly problem: string; readonly isFinal?: true };

export function telegramFiles(api: TelegramApi, timing: Timing, log: Log | undefined): TelegramFiles {
  const { apiRoot, token } = api.connection;

  async function fetchOnce({ fileId }: Attachment, signal: AbortSignal): Promise<DownloadResult> {
    const answer = await api.call((calls, within) => calls.getFile({ file_id: fileId }, within), {
      signal,
      ms: ASK_MS,
    });
    if (!answer.ok) {
      const { failure } = answer;
      const isFinal = failure.kind === "answered" && failure.code === 400;
      return { problem: formatTelegramFailure(failure), ...(isFinal && { isFinal }) };
    }
    const { file_path: path } = answer.value;
    if (path === undefined) return { problem: "Telegram returned no path for it" };
    try {
      return await download(
        `${apiRoot}/file/bot${token}/${path.split("/").map(encodeURIComponent).join("/")}`,
        signal,
      );
    } catch {
      return { problem: "the download failed" }; // the error may contain the URL, and the URL the token
    }
  }

  return {
    async fetch(attachment, signal) {
      const { size = 0, type, mimeType, name } = attachment;
      let result: DownloadResult = { problem: "" };
      if (size > MAX_DOWNLOAD) result = { problem: formatTooLarge(size) };
      else {
        for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt += 1) {
          result = await fetchOnce(attachment, signal);
          if ("bytes" in result || result.isFinal || attempt === ATTEMPTS) break;
          await timing.wait(computeRetryDelay(attempt, timing), signal);
        }
      }
      if ("problem" in result) {
        log?.warn({ kind: attachment.kind, problem: result.problem }, "the download of an attachment failed");
        const label = name === undefined ? attachment.kind : `${attachment.kind} ${name}`;
        return { part: textPart(`[${label}: could not be received; ${result.problem}]`) };
      }
      const { bytes } = result;
      const hash = createHash("sha256").update(bytes).digest("hex");
      return {
        part: { type, blob: hash, mimeType, size: bytes.byteLength, ...(name !== undefined && { name }) },
        blob: { hash, bytes },
      };
    },
  };
}

async function download(url: string, signal: AbortSignal): Promise<DownloadResult> {
  const response = await fetch(url, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_MS)]),
    redirect: "error",
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return { problem: `the download returned HTTP status ${response.status}` };
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.byteLength;
    if (size > MAX_DOWNLOAD) return { problem: formatTooLarge(size), isFinal: true };
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks) };
}

function formatTooLarge(size: number): string {
  return `it has ${Math.ceil(size / 1024 / 1024)} MB, and the limit of Telegram for bots is 20 MB`;
}
