import type { Random } from "../support/random.ts";

/** How often each kind happens in a hundred moments. */
const SHARES = {
  /** SIGKILL at any instruction, and a new process. */
  kill: 18,
  /** SIGKILL at a chosen step. */
  "kill at a step": 12,
  /** SIGSTOP for longer than the lease, at any instruction. */
  stop: 8,
  /** SIGSTOP for longer than the lease, between the end of the agent and the end of its turn in the store. */
  "stop before finish": 14,
  /** SIGSTOP for longer than the lease, between the stored attempt to send a message and the request to the messenger. */
  "stop before send": 6,
  /** All connections to the database end. */
  cut: 8,
  /** A connection to the database ends during a COMMIT. */
  "cut at a commit": 6,
  /** No connection to the database for a while. */
  refuse: 6,
  /** Everything between the gateway and the database takes longer. */
  delay: 8,
  /** The connections to the database stay open, and nothing arrives any more. */
  "half-open": 6,
  "database restart": 3,
  "clock step": 5,
} as const;

export type MomentKind = keyof typeof SHARES;
export const KINDS = Object.keys(SHARES) as readonly MomentKind[];

/** So many moments, each kind in proportion to its share, in random order. */
export function planMoments(count: number, random: Random): readonly MomentKind[] {
  const planned: MomentKind[] = [];
  for (let made = 1; made <= count; made += 1) {
    const missing = (kind: MomentKind): number =>
      (SHARES[kind] * made) / 100 - planned.filter((one) => one === kind).length;
    const [first = "kill"] = [...KINDS].sort((one, other) => missing(other) - missing(one));
    planned.push(first);
  }
  return planned
    .map((kind) => ({ kind, order: random.next() }))
    .sort((one, other) => one.order - other.order)
    .map(({ kind }) => kind);
}

export function countKinds(kinds: readonly MomentKind[]): string {
  return KINDS.map((kind) => `${kind} ${kinds.filter((one) => one === kind).length}`).join(", ");
}
