/** A running Postrider process that may hold leases. */
export interface Runner {
  readonly id: string;
  readonly host: string;
  /** Changes when the machine restarts, and differs between containers: a pid is compared only within one boot. */
  readonly boot: string;
  readonly pid: number;
  /** The start time that the system reports. Distinguishes it from a later process with the same pid. */
  readonly started: string;
}

/** Others may take over the work of a runner without a heartbeat for this long, even if its process exists. */
export const RUNNER_DEAD_MS = 30_000;
export const HEARTBEAT_MS = 10_000;

/** What other processes ask of a runner. */
export interface RunnerRequests {
  /** The numbers of its running turns that are to be stopped. */
  readonly stopTurns: readonly number[];
  /** It is to hand over its connections, finish its turns, and end. */
  readonly drain: boolean;
}

/** A lease and its holder. */
export interface HeldLease {
  readonly name: string;
  readonly runner: Runner;
  readonly until: number;
  /** A description by the holder. */
  readonly about?: string;
  /** The holder's last heartbeat. Set if the lease expired but the holder's process still exists on this machine. */
  readonly silentSince?: number;
}
