import type { Message, Update } from "grammy/types";
import { type Part, text } from "../../core/message.ts";
import type { Cursor } from "../../core/turn.ts";
import type { Log } from "../../ports/log.ts";
import type { Receiver } from "../../ports/platform.ts";
import type { Me } from "./addressed.ts";
import type { Arrival } from "./albums.ts";
import type { TelegramApi } from "./api.ts";
import type { Files } from "./files.ts";
import { messageIn, type Parsed, parse } from "./parse.ts";

export interface HandOverOptions {
  readonly api: TelegramApi;
  readonly files: Files;
  readonly receiver: Receiver;
  readonly me: Me;
  readonly requireMention: boolean;
  readonly log: Log | undefined;
  isOurLast(message: Message): boolean;
}

/**
 * Hands an arrival to the receiver. True when it is stored, or nothing to store; false when stopped before. `cursor` is
 * asked for at the last moment, when the most is stored.
 */
export type HandOver = (arrival: Arrival, cursor: () => Cursor, signal: AbortSignal) => Promise<boolean>;

/** Albums whose captions may still be changed. */
const ALBUMS_KEPT = 100;
const ANSWER_PRESS_MS = 5000;

export function handingOver(options: HandOverOptions): HandOver {
  const { api, files, receiver, log } = options;
  const albums = new Map<string, readonly Update[]>();

  /** An edit tells of one picture only: it is put into its album, or the others would be gone from the message. */
  function whole(updates: readonly Update[]): readonly Update[] {
    const [first] = updates;
    const message = first && messageIn(first);
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
      ? (known ?? []).map((part) => (messageIn(part)?.message_id === message.message_id ? first : part))
      : updates;
    albums.delete(group);
    albums.set(group, parts);
    const [oldest] = albums.keys();
    if (albums.size > ALBUMS_KEPT && oldest !== undefined) albums.delete(oldest);
    return parts;
  }

  /** What cannot be understood must not hold up everything after it for ever. */
  function understood(arrival: Arrival): Parsed {
    try {
      return parse(whole(arrival.updates), options);
    } catch (error) {
      log?.error(
        { error, updates: arrival.updates.map((update) => update.update_id) },
        "an update was not understood",
      );
      return { kind: "nothing" };
    }
  }

  return async (arrival, cursor, signal) => {
    const parsed = understood(arrival);
    switch (parsed.kind) {
      case "nothing":
        return true;
      case "moved":
        log?.warn({ from: parsed.from, to: parsed.to }, "a group has become a supergroup and has a new id");
        return true;
      case "pressed": {
        const { query, source, messageId, line } = parsed;
        if (line !== undefined) await receiver.pressed({ source, messageId, line, cursor: cursor() });
        const words = line === undefined ? { text: "This button is too old. Please write it instead." } : {};
        // Only ends the little clock on the button; too late is no harm.
        await api.ask(
          (calls, within) => calls.answerCallbackQuery({ callback_query_id: query, ...words }, within),
          { signal, ms: ANSWER_PRESS_MS },
        );
        return true;
      }
      default: {
        const fetched = [];
        for (const attachment of parsed.attachments) fetched.push(await files.fetch(attachment, signal));
        if (signal.aborted) return false; // a download was cut off by us: it comes again
        const { source, messageId, at, saidAt } = parsed;
        const parts: Part[] = [...parsed.texts.map(text), ...fetched.map(({ part }) => part)];
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
          cursor: cursor(),
        };
        if (parsed.kind === "edited") await receiver.edited({ ...inbound, saidAt });
        else await receiver.message(inbound);
        return true;
      }
    }
  };
}
