import { localSource, type Source } from "../../../core/source.ts";
import type { Store } from "../../../ports/store.ts";

/**
 * Terminals that are open at once each have a conversation of their own, so that going elsewhere in one does not move
 * the other: the first is `…:local:dm:cli`, the second `…:local:dm:cli:2`. Questions asked once (`-q`) have theirs
 * beside them. Each is held by a lease; what a closed terminal left, the next one takes up.
 */
export type TerminalSlotKind = "terminal" | "query";

export interface TerminalSlot {
  readonly source: Source;
  /** Keeps it; to be called with every heartbeat. */
  renew(): Promise<void>;
  release(): Promise<void>;
}

export async function leaseTerminalSlot(
  store: Store,
  runner: string,
  kind: TerminalSlotKind,
  ttlMs: number,
): Promise<TerminalSlot> {
  for (let number = 1; ; number += 1) {
    const name = `${kind}:${number}`;
    const take = () => store.runners.acquireLease({ name, runner, ttlMs, now: Date.now() });
    if ((await take()) === undefined) continue;
    return {
      source: buildSlotSource(kind, number),
      renew: async () => void (await take()),
      release: async () => void (await store.runners.releaseLease({ name, runner })),
    };
  }
}

function buildSlotSource(kind: TerminalSlotKind, number: number): Source {
  const thread = kind === "terminal" ? String(number) : `query-${number}`;
  return thread === "1" ? localSource() : { ...localSource(), threadId: thread };
}
