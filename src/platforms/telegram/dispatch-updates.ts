import type { Message, Update } from "grammy/types";
import { type Part, textPart } from "../../core/message.ts";
import type { Source } from "../../core/source.ts";
import type { PlatformCursor } from "../../core/turn.ts";
import type { Log } from "../../ports/log.ts";
import type { Receiver } from "../../ports/platform.ts";
import type { UpdateBatch } from "./albums.ts";
import type { TelegramApi } from "./api.ts";
import type { Attachment } from "./attachment.ts";
import type { FetchedFile, TelegramFiles } from "./files.ts";
import type { BotUser } from "./is-addressed.ts";
import { createKeyedSemaphore } from "./keyed-semaphore.ts";
import { getUpdateMessage, type ParsedUpdate, parseUpdates } from "./parse.ts";

export interface DispatchOptions {
  readonly api: TelegramApi;
  readonly files: TelegramFiles;
  readonly receiver: Receiver;
  readonly me: BotUser;
  readonly requireMention: boolean;
  readonly log: Log | undefined;
  isOurLast(message: Message): boolean;
}

/** Passes a batch to the receiver. True when it is stored; false if polling stops, and nothing was passed. */
export type UpdateDispatch = (cursor: PlatformCursor) => Promise<boolean>;

/** Downloads the files of a batch. Batches of a chat may be prepared in parallel; they are dispatched in order. */
export type DispatchPreparer = (batch: UpdateBatch, signal: AbortSignal) => Promise<UpdateDispatch>;

/** The maximum number of messages of a chat with downloaded files that are not stored yet. A file has up to 20 MB. */
const MAX_FETCHED = 4;
/** The number of albums whose captions can still be edited. */
const ALBUMS_KEPT = 100;
const ANSWER_PRESS_MS = 5000;

const NOTHING_TO_STORE: UpdateDispatch = async () => true;
const STOPPED: UpdateDispatch = async () => false;

export function createDispatchPreparer(options: DispatchOptions): DispatchPreparer {
  const { api, files, receiver, log } = options;
  const albums = new Map<string, readonly Update[]>();
  const fetching = createKeyedSemaphore(MAX_FETCHED);

  /** An edit contains only one picture of an album. It is merged into the known album, so that the others stay. */
  function completeAlbum(updates: readonly Update[]): readonly Update[] {
    const [first] = updates;
    const message = first && getUpdateMessage(first);
    const group = message?.media_group_id;
    if (first === undefined || message === undefined || group === undefined) return updates;
    const isEdit = (first.edited_message ?? first.edited_channel_post) !== undefined;
    const known = albums.get(group);
    if (isEdit && known === undefined) {
      log?.info({ chat: message.chat.id }, "ignored the edit of an album that is not remembered any more");
      return [];
    }
    const parts = isEdit
      ? (known ?? []).map((part) =>
          getUpdateMessage(part)?.message_id === message.message_id ? first : part,
        )
      : updates;
    albums.delete(group);
    albums.set(group, parts);
    const [oldest] = albums.keys();
    if (albums.size > ALBUMS_KEPT && oldest !== undefined) albums.delete(oldest);
    return parts;
  }

  /** An update that cannot be parsed is skipped, so that it does not block all later ones. */
  function parseBatch(batch: UpdateBatch): ParsedUpdate {
    try {
      return parseUpdates(completeAlbum(batch.updates), options);
    } catch (error) {
      log?.error(
        { error, updates: batch.updates.map((update) => update.update_id) },
        "parsing a Telegram update failed; skipped it",
      );
      return { kind: "nothing" };
    }
  }

  /** Does not download files of a sender without access. */
  async function fetchAll(
    attachments: readonly Attachment[],
    source: Source,
    signal: AbortSignal,
  ): Promise<readonly FetchedFile[]> {
    if (attachments.length === 0) return [];
    if (!(await receiver.canSpeak(source)))
      return attachments.map(({ kind }) => ({ part: textPart(`[${kind}: not fetched]`) }));
    const fetched: FetchedFile[] = [];
    for (const attachment of attachments) fetched.push(await files.fetch(attachment, signal));
    return fetched;
  }

  return async (batch, signal) => {
    const parsed = parseBatch(batch);
    switch (parsed.kind) {
      case "nothing":
        return NOTHING_TO_STORE;
      case "moved":
        log?.warn({ from: parsed.from, to: parsed.to }, "a group became a supergroup and has a new id");
        return NOTHING_TO_STORE;
      case "pressed": {
        const { query, source, messageId, line } = parsed;
        const notice = line === undefined ? { text: "This button is too old. Please write it instead." } : {};
        return async (cursor) => {
          if (signal.aborted) return false;
          if (line !== undefined) await receiver.receivePress({ source, messageId, line, cursor });
          // Only ends the loading indicator of the button, so a failure does no harm.
          await api.call(
            (calls, within) => calls.answerCallbackQuery({ callback_query_id: query, ...notice }, within),
            { signal, ms: ANSWER_PRESS_MS },
          );
          return true;
        };
      }
      default: {
        const { source, messageId, at, sentAt, attachments } = parsed;
        const release = attachments.length === 0 ? () => {} : await fetching.acquire(String(batch.chat));
        const fetched = await fetchAll(attachments, source, signal).catch((error: unknown) => {
          release();
          throw error;
        });
        if (signal.aborted) {
          release();
          return STOPPED; // the download was aborted; Telegram delivers the update again
        }
        const parts: Part[] = [...parsed.texts.map(textPart), ...fetched.map(({ part }) => part)];
        const blobs = fetched.flatMap(({ blob }) => blob ?? []);
        const origin = {
          platform: source.platform,
          platformMessageId: messageId,
          ...(source.userId !== undefined && { userId: source.userId }),
          ...(source.userName !== undefined && { userName: source.userName }),
        };
        const inbound = {
          source,
          messageId,
          message: { role: "user", parts, at, origin } as const,
          ...(blobs.length > 0 && { blobs }),
        };
        return async (cursor) => {
          try {
            if (signal.aborted) return false;
            if (parsed.kind === "edited") await receiver.receiveEdit({ ...inbound, cursor, sentAt });
            else await receiver.receiveMessage({ ...inbound, cursor });
            return true;
          } finally {
            release();
          }
        };
      }
    }
  };
}
