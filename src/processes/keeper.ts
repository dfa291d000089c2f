import type { Runner } from "../core/runner.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import { every } from "../system/every.ts";
import { pause } from "../system/pause.ts";
import { type RunnerLife, runnerLife } from "../system/runner-life.ts";
import type { Backend } from "./backend.ts";
import { createKeeperProcesses } from "./keeper-processes.ts";
import { isKeeperListening, type KeeperListener, listenForRequests } from "./listen.ts";

/** One keeper a home: whoever holds this is it. */
export const KEEPER_LEASE = "keeper";
/** Another that is just ending is waited for so long. */
const TAKE_OVER_MS = 5000;
const LOOK_MS = 1000;
const ADOPT_MS = 30_000;
const IDLE_MS = 60_000;
const GRACE_MS = 5000;

export interface KeeperOptions {
  readonly store: Store;
  readonly runner: Runner;
  readonly backend: Backend;
  readonly clock: Clock;
  /** Where it listens. */
  readonly socket: string;
  readonly log: Log;
  /** It ends after so long without programs and without being asked for anything. */
  readonly idleMs?: number;
  /** How often it looks for what other keepers have left, and for what has no row any more. */
  readonly adoptMs?: number;
  /** Between asking a program to end and making it. */
  readonly graceMs?: number;
  /** Told to end, it ends what it looks after first: the rows then say how each has ended, and nothing runs unseen. */
  readonly signal: AbortSignal;
}

/**
 * Looks after every program that runs for sessions of one home, until there is nothing to look after. Resolves at once
 * when another does so already.
 */
export async function runKeeper(options: KeeperOptions): Promise<void> {
  const { store, runner, clock, log, signal } = options;
  const { idleMs = IDLE_MS, adoptMs = ADOPT_MS, graceMs = GRACE_MS } = options;
  const onError = (error: unknown): void => log.warn({ error }, "a round of the keeper failed; it retries");
  const life = await runnerLife({ store, clock, runner, onError });
  const isHeld = await acquireKeeperLease(options.socket, life).catch((error: unknown) => {
    life.stop();
    throw error;
  });
  if (!isHeld) return life.retire();

  const done = Promise.withResolvers<void>();
  let listening: KeeperListener | undefined;
  let idle: NodeJS.Timeout | undefined;
  const changed = (): void => {
    if (programs.count() > 0 || listening?.countOpenRequests() !== 0) {
      clearTimeout(idle);
      idle = undefined;
    } else idle ??= setTimeout(done.resolve, idleMs);
  };
  const programs = createKeeperProcesses({ ...options, keeper: runner.id, graceMs, onChange: changed });
  const ending = new AbortController();
  every(adoptMs, ending.signal, () => programs.adopt(), onError);
  every(LOOK_MS, ending.signal, () => programs.checkDetached(), onError);
  try {
    await programs.adopt();
    listening = await listenForRequests({
      socket: options.socket,
      log,
      handle: programs.handle,
      onChange: changed,
    });
    changed();
    log.info({ socket: options.socket }, "the keeper listens");
    signal.addEventListener("abort", () => done.resolve(), { once: true });
    if (!signal.aborted) await done.promise;
  } finally {
    clearTimeout(idle);
    listening?.close();
    if (signal.aborted) await programs.endAll();
    ending.abort();
    await life.retire();
    log.info({}, "the keeper ends");
  }
}

/** False when another keeper answers. One that holds the lease and does not answer is starting, or ending. */
async function acquireKeeperLease(socket: string, life: RunnerLife): Promise<boolean> {
  for (const startedAt = performance.now(); performance.now() - startedAt < TAKE_OVER_MS; ) {
    if (await isKeeperListening(socket)) return false;
    // Another keeper may have started and ended since; but none listens now, because the lease was free.
    if ((await life.acquireLease({ name: KEEPER_LEASE })) !== undefined)
      return !(await isKeeperListening(socket));
    await pause(50);
  }
  return false;
}
