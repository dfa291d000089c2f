import { HEARTBEAT_MS, RUNNER_DEAD_MS, type Runner } from "../core/runner.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
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
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  if (!(await acquireKeeperLease(options))) return store.runners.retire({ runner: runner.id });

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
  const timers = [
    runEvery(HEARTBEAT_MS, log, async () => {
      await store.runners.recordHeartbeat({ runner, now: clock.now() });
      await store.runners.acquireLease(buildLease(options));
    }),
    runEvery(adoptMs, log, () => programs.adopt()),
    runEvery(LOOK_MS, log, () => programs.checkDetached()),
  ];
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
    for (const timer of timers) clearInterval(timer);
    await store.runners.retire({ runner: runner.id });
    log.info({}, "the keeper ends");
  }
}

function buildLease({ runner, clock }: KeeperOptions): Parameters<Store["runners"]["acquireLease"]>[0] {
  return { name: KEEPER_LEASE, runner: runner.id, ttlMs: RUNNER_DEAD_MS, now: clock.now() };
}

/** False when another answers. One that holds the lease and does not answer is only just beginning, or ending. */
async function acquireKeeperLease(options: KeeperOptions): Promise<boolean> {
  for (const began = performance.now(); performance.now() - began < TAKE_OVER_MS; ) {
    if (await isKeeperListening(options.socket)) return false;
    if ((await options.store.runners.acquireLease(buildLease(options))) !== undefined) {
      // Between the question and the lease, another may have begun and ended; but not be there: the lease was free.
      return !(await isKeeperListening(options.socket));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

/** One after the other: a slow disk does not pile them up. What fails is tried again the next time. */
function runEvery(ms: number, log: Log, work: () => Promise<void>): NodeJS.Timeout {
  let isBusy = false;
  return setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    work()
      .catch((error) => log.warn({ error }, "the keeper cannot do its rounds now"))
      .finally(() => {
        isBusy = false;
      });
  }, ms);
}
