/** A running Postrider process that may hold leases. */
export interface Runner {
  readonly id: string;
  readonly host: string;
  /** Changes when the machine restarts. */
  readonly boot: string;
  readonly pid: number;
  /** When the process started, as the system tells it: a pid that came back is another process. */
  readonly started: string;
}

/** The work of a runner that has been silent for this long may be taken over, even if its process still exists. */
export const RUNNER_DEAD_MS = 30_000;
export const HEARTBEAT_MS = 10_000;

/** Something that may exist once, and who has it. */
export interface HeldLease {
  readonly name: string;
  readonly runner: Runner;
  readonly until: number;
  /** What its holder says of it. */
  readonly about?: string;
  /** Set when the lease has run out but its holder's process still exists on this machine: its last heartbeat. */
  readonly silentSince?: number;
}
