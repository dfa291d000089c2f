import type { Update } from "grammy/types";
import { getUpdateMessage } from "./parse.ts";

/** Updates that are dispatched together: a single update, or all updates of an album. */
export interface UpdateBatch {
  readonly chat: number;
  /** Ordered by message id. */
  readonly updates: readonly Update[];
}

/** Collects albums: Telegram sends each picture as a separate update, without their number. */
export interface Albums {
  /** Adds an update and returns the batches that are complete now. Another update of the chat completes its album. */
  add(update: Update): readonly UpdateBatch[];
  /** Called after each poll. An album that did not grow for `quietRounds` rounds is complete. */
  endRound(): readonly UpdateBatch[];
  /** Whether an album is incomplete. */
  isOpen(): boolean;
}

/** Telegram's limit for an album. */
const MAX_ALBUM_PARTS = 10;

interface OpenAlbum {
  readonly group: string;
  readonly updates: Update[];
  quietRounds: number;
}

export function openAlbums(quietRounds: number): Albums {
  const open = new Map<number, OpenAlbum>();

  function close(chat: number): readonly UpdateBatch[] {
    const album = open.get(chat);
    if (album === undefined) return [];
    open.delete(chat);
    return [{ chat, updates: album.updates.toSorted((a, b) => getMessageId(a) - getMessageId(b)) }];
  }

  return {
    add(update) {
      const chat = getUpdateChat(update);
      const group = (update.message ?? update.channel_post)?.media_group_id;
      const album = open.get(chat);
      if (group === undefined) return [...close(chat), { chat, updates: [update] }];
      if (album?.group !== group) {
        const before = close(chat);
        open.set(chat, { group, updates: [update], quietRounds: -1 });
        return before;
      }
      album.updates.push(update);
      album.quietRounds = -1;
      return album.updates.length === MAX_ALBUM_PARTS ? close(chat) : [];
    },
    endRound() {
      return [...open].flatMap(([chat, album]) => {
        album.quietRounds += 1;
        return album.quietRounds >= quietRounds ? close(chat) : [];
      });
    },
    isOpen: () => open.size > 0,
  };
}

function getMessageId(update: Update): number {
  return getUpdateMessage(update)?.message_id ?? 0;
}

/** Updates without a chat share the id 0. An update of unknown form must not stop the polling. */
function getUpdateChat(update: Update): number {
  const message: { readonly chat?: { readonly id: number } } | undefined =
    getUpdateMessage(update) ?? update.callback_query?.message;
  return message?.chat?.id ?? 0;
}
