import type { Update } from "grammy/types";
import { getUpdateMessage } from "./parse.ts";

/** What is handed over together: an update, or all those of an album. */
export interface UpdateBatch {
  readonly chat: number;
  /** In the order of their messages. */
  readonly updates: readonly Update[];
}

/** Telegram brings each picture of an album as an update of its own, and does not say how many there are. */
export interface Albums {
  /** Takes an update, and gives what is whole now. Whatever else comes from the chat ends its album. */
  add(update: Update): readonly UpdateBatch[];
  /** To be called after each round of asking: what has not grown for some rounds is whole. */
  endRound(): readonly UpdateBatch[];
  /** Whether something waits for more. */
  isOpen(): boolean;
}

/** As many as an album can have. */
const MOST_PARTS = 10;

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
      return album.updates.length === MOST_PARTS ? close(chat) : [];
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

/** Whatever belongs to no chat is a chat of its own. An update may be of any shape: it must not end everything. */
function getUpdateChat(update: Update): number {
  const message: { readonly chat?: { readonly id: number } } | undefined =
    getUpdateMessage(update) ?? update.callback_query?.message;
  return message?.chat?.id ?? 0;
}
