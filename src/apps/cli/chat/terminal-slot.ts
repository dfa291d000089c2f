import { localSource, type Source } from "../../../core/source.ts";
import type { Store } from "../../../ports/store.ts";

/**
 * Each open terminal has its own conversation: the first is `…:local:dm:cli`, the second `…:local:dm:cli:2`; single
 * questions (`-q`) have others. A lease holds each slot, and the next terminal reuses the slot of a closed one.
 */
export type TerminalSlotKind = "terminal" | "query";

export interface TerminalSlot {
  readonly source: Source;
  /** Renews the lease. Call it with every heartbeat. */
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
