import type { Update } from "grammy/types";
import { messageIn } from "./parse.ts";

/** What is handed over together: an update, or all those of an album. */
export interface Arrival {
  readonly chat: number;
  /** In the order of their messages. */
  readonly updates: readonly Update[];
}

/** Telegram brings each picture of an album as an update of its own, and does not say how many there are. */
export interface Albums {
  /** Takes an update, and gives what is whole now. Whatever else comes from the chat ends its album. */
  add(update: Update): readonly Arrival[];
  /** To be called after each round of asking: what has not grown for some rounds is whole. */
  endRound(): readonly Arrival[];
  /** Whether something waits for more. */
  isOpen(): boolean;
}

/** As many as an album can have. */
const MOST_PARTS = 10;

interface Open {
  readonly group: string;
  readonly updates: Update[];
  quiet: number;
}

export function openAlbums(quietRounds: number): Albums {
  const open = new Map<number, Open>();

  function close(chat: number): readonly Arrival[] {
    const album = open.get(chat);
    if (album === undefined) return [];
    open.delete(chat);
    return [{ chat, updates: album.updates.toSorted((a, b) => placeOf(a) - placeOf(b)) }];
  }

  return {
    add(update) {
      const chat = chatOf(update);
      const group = (update.message ?? update.channel_post)?.media_group_id;
      const album = open.get(chat);
      if (group === undefined) return [...close(chat), { chat, updates: [update] }];
      if (album?.group !== group) {
        const before = close(chat);
        open.set(chat, { group, updates: [update], quiet: -1 });
        return before;
      }
      album.updates.push(update);
      album.quiet = -1;
      return album.updates.length === MOST_PARTS ? close(chat) : [];
    },
    endRound() {
      return [...open].flatMap(([chat, album]) => {
        album.quiet += 1;
        return album.quiet >= quietRounds ? close(chat) : [];
      });
    },
    isOpen: () => open.size > 0,
  };
}

function placeOf(update: Update): number {
  return messageIn(update)?.message_id ?? 0;
}

/** Whatever belongs to no chat is a chat of its own. An update may be of any shape: it must not end everything. */
function chatOf(update: Update): number {
  const message: { readonly chat?: { readonly id: number } } | undefined =
    messageIn(update) ?? update.callback_query?.message;
  return message?.chat?.id ?? 0;
}
