import { localSource, type Source } from "../../../core/source.ts";
import type { Store } from "../../../ports/store.ts";

/**
 * Terminals that are open at once each have a conversation of their own, so that going elsewhere in one does not move
 * the other: the first is `…:local:dm:cli`, the second `…:local:dm:cli:2`. Questions asked once (`-q`) have theirs
 * beside them. Each is held by a lease; what a closed terminal left, the next one takes up.
 */
export type PlaceKind = "terminal" | "query";

export interface HeldPlace {
  readonly source: Source;
  /** Keeps it; to be called with every heartbeat. */
  keep(): Promise<void>;
  release(): Promise<void>;
}

export async function holdPlace(
  store: Store,
  runner: string,
  kind: PlaceKind,
  ttlMs: number,
): Promise<HeldPlace> {
  for (let number = 1; ; number += 1) {
    const name = `${kind}:${number}`;
    const take = () => store.lease({ name, runner, ttlMs, now: Date.now() });
    if ((await take()) === undefined) continue;
    return {
      source: sourceOf(kind, number),
      keep: async () => void (await take()),
      release: async () => void (await store.unlease({ name, runner })),
    };
  }
}

function sourceOf(kind: PlaceKind, number: number): Source {
  const thread = kind === "terminal" ? String(number) : `query-${number}`;
  return thread === "1" ? localSource() : { ...localSource(), threadId: thread };
}
