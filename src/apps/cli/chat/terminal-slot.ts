import { localSource, type Source } from "../../../core/source.ts";
import type { RunnerLife } from "../../../system/runner-life.ts";

/**
 * Each open terminal has its own conversation: the first is `…:local:dm:cli`, the second `…:local:dm:cli:2`; single
 * questions (`-q`) have others. A lease holds each slot, and the next terminal reuses the slot of a closed one.
 */
export type TerminalSlotKind = "terminal" | "query";

export interface TerminalSlot {
  readonly source: Source;
  release(): Promise<void>;
}

export async function leaseTerminalSlot(life: RunnerLife, kind: TerminalSlotKind): Promise<TerminalSlot> {
  for (let number = 1; ; number += 1) {
    const lease = await life.acquireLease({ name: `${kind}:${number}` });
    if (lease !== undefined) return { source: buildSlotSource(kind, number), release: lease.release };
  }
}

function buildSlotSource(kind: TerminalSlotKind, number: number): Source {
  const thread = kind === "terminal" ? String(number) : `query-${number}`;
  return thread === "1" ? localSource() : { ...localSource(), threadId: thread };
}
