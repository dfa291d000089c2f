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

/** Gives an arrival to the receiver. Resolves with true when it is stored; with false when stopped, and nothing is given. */
export type UpdateDispatch = (cursor: PlatformCursor) => Promise<boolean>;

/** Fetches what belongs to an arrival. Arrivals of a chat may be prepared at once; they are handed over in their order. */
export type DispatchPreparer = (arrival: UpdateBatch, signal: AbortSignal) => Promise<UpdateDispatch>;

/** Messages with files of one chat that are fetched and not stored yet, at most: each file may have 20 MB. */
const MOST_FETCHED = 4;
/** Albums whose captions may still be changed. */
const ALBUMS_KEPT = 100;
const ANSWER_PRESS_MS = 5000;

const NOTHING_TO_STORE: UpdateDispatch = async () => true;
const STOPPED: UpdateDispatch = async () => false;

export function createDispatchPreparer(options: DispatchOptions): DispatchPreparer {
  const { api, files, receiver, log } = options;
  const albums = new Map<string, readonly Update[]>();
  const fetching = createKeyedSemaphore(MOST_FETCHED);

  /** An edit tells of one picture only: it is put into its album, or the others would be gone from the message. */
  function whole(updates: readonly Update[]): readonly Update[] {
    const [first] = updates;
    const message = first && getUpdateMessage(first);
    const group = message?.media_group_id;
    if (first === undefined || message === undefined || group === undefined) return updates;
    const isEdit = (first.edited_message ?? first.edited_channel_post) !== undefined;
    const known = albums.get(group);
    if (isEdit && known === undefined) {
      log?.info(
        { chat: message.chat.id },
        "an album was changed that is not known any more; it stays as it was",
      );
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

  /** What cannot be understood must not hold up everything after it for ever. */
  function understood(arrival: UpdateBatch): ParsedUpdate {
    try {
      return parseUpdates(whole(arrival.updates), options);
    } catch (error) {
      log?.error(
        { error, updates: arrival.updates.map((update) => update.update_id) },
        "an update was not understood",
      );
      return { kind: "nothing" };
    }
  }

  /** Somebody who may not speak gets an answer at most: their files stay where they are. */
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

  return async (arrival, signal) => {
    const parsed = understood(arrival);
    switch (parsed.kind) {
      case "nothing":
        return NOTHING_TO_STORE;
      case "moved":
        log?.warn({ from: parsed.from, to: parsed.to }, "a group has become a supergroup and has a new id");
        return NOTHING_TO_STORE;
      case "pressed": {
        const { query, source, messageId, line } = parsed;
        const words = line === undefined ? { text: "This button is too old. Please write it instead." } : {};
        return async (cursor) => {
          if (signal.aborted) return false;
          if (line !== undefined) await receiver.receivePress({ source, messageId, line, cursor });
          // Only ends the little clock on the button; too late is no harm.
          await api.call(
            (calls, within) => calls.answerCallbackQuery({ callback_query_id: query, ...words }, within),
            { signal, ms: ANSWER_PRESS_MS },
          );
          return true;
        };
      }
      default: {
        const { source, messageId, at, saidAt, attachments } = parsed;
        const release = attachments.length === 0 ? () => {} : await fetching.acquire(String(arrival.chat));
        const fetched = await fetchAll(attachments, source, signal).catch((error: unknown) => {
          release();
          throw error;
        });
        if (signal.aborted) {
          release();
          return STOPPED; // a download was cut off by us: it comes again
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
            if (parsed.kind === "edited") await receiver.receiveEdit({ ...inbound, cursor, sentAt: saidAt });
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
