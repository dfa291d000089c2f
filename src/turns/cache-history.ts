import { isDeepStrictEqual } from "node:util";
import type { Message } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import type { Store } from "../ports/store.ts";

/** A longer history is not cached. */
const MAX_CACHED_MESSAGES = 20_000;

type Pieces = ViewRanges["pieces"];

/**
 * Reads the messages of a session, with a cache for a chat that reads them in every turn. Messages never change: while the
 * view only grows, only new messages are read; after any other change, all of them.
 */
export function cacheHistory(store: Store, session: string): () => Promise<readonly Message[]> {
  let known: { readonly pieces: Pieces; readonly messages: readonly Message[] } | undefined;
  const ask = { asker: SYSTEM, session };
  const readPieces = async (): Promise<Pieces> => (await store.messages.getViewRanges(ask))?.pieces ?? [];

  return async () => {
    const pieces = await readPieces();
    const before = known !== undefined && hasGrown(known.pieces, pieces) ? known.messages : [];
    const more = (await store.messages.readHistory({ ...ask, offset: before.length })) ?? [];
    const messages = before.length === 0 ? more : [...before, ...more];
    // Another process may have changed the view between the reads.
    const isSame = isDeepStrictEqual(await readPieces(), pieces);
    known = isSame && messages.length <= MAX_CACHED_MESSAGES ? { pieces, messages } : undefined;
    return isSame || before.length === 0 ? messages : ((await store.messages.readHistory(ask)) ?? []);
  };
}

function hasGrown(before: Pieces, now: Pieces): boolean {
  return before.every((piece, at) => {
    const same = now[at];
    if (same === undefined || same.session !== piece.session || same.from !== piece.from) return false;
    return at === before.length - 1 ? same.to >= piece.to : same.to === piece.to;
  });
}
