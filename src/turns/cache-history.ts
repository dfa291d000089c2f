import { isDeepStrictEqual } from "node:util";
import type { Message } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import type { ViewRanges } from "../ports/message-store.ts";
import type { Store } from "../ports/store.ts";

/** Beyond this a history is read anew each time, rather than held. */
const MAX_CACHED_MESSAGES = 20_000;

type Pieces = ViewRanges["pieces"];

/**
 * What a session shows, for a place that asks again with every turn. Messages never change, so while the view only grows,
 * only what is new is read; whatever else has become of it, all of it is.
 */
export function cacheHistory(store: Store, session: string): () => Promise<readonly Message[]> {
  let known: { readonly pieces: Pieces; readonly messages: readonly Message[] } | undefined;
  const ask = { asker: SYSTEM, session };
  const shape = async (): Promise<Pieces> => (await store.messages.getViewRanges(ask))?.pieces ?? [];

  return async () => {
    const pieces = await shape();
    const before = known !== undefined && hasGrown(known.pieces, pieces) ? known.messages : [];
    const more = (await store.messages.readHistory({ ...ask, offset: before.length })) ?? [];
    const messages = before.length === 0 ? more : [...before, ...more];
    // Between the reads somebody may have said something, or taken something back.
    const isSame = isDeepStrictEqual(await shape(), pieces);
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
