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

/** The keeper of a home with its own database holds this lease. */
export const KEEPER_LEASE = "keeper";
/** How long to wait for a keeper that is about to exit. */
const TAKE_OVER_MS = 5000;
const CHECK_MS = 1000;
const ADOPT_MS = 30_000;
const IDLE_MS = 60_000;
const GRACE_MS = 5000;

export interface KeeperOptions {
  readonly store: Store;
  readonly runner: Runner;
  readonly backend: Backend;
  readonly clock: Clock;
  /** The path of the socket that it listens on. */
  readonly socket: string;
  readonly log: Log;
  /** Only one keeper holds it. Homes that share a store have one each. Default: `KEEPER_LEASE`. */
  readonly lease?: string;
  /** The keeper exits after this time without processes and without requests. */
  readonly idleMs?: number;
  /** How often it looks for processes of other keepers, and for processes without a row. */
  readonly adoptMs?: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs?: number;
  /** On abort, the keeper first ends its processes: their rows then contain the exits, and nothing runs unsupervised. */
  readonly signal: AbortSignal;
}

/** Supervises every process of the sessions of one home, until none is left. Resolves at once if another keeper runs. */
export async function runKeeper(options: KeeperOptions): Promise<void> {
  const { store, runner, clock, log, signal } = options;
  const { idleMs = IDLE_MS, adoptMs = ADOPT_MS, graceMs = GRACE_MS } = options;
  const onError = (error: unknown): void => log.warn({ error }, "a round of the keeper failed; it retries");
  const life = await runnerLife({ store, clock, runner, onError });
  const isHeld = await acquireKeeperLease(options, life).catch((error: unknown) => {
    life.stop();
    throw error;
  });
  if (!isHeld) return life.retire();

  const done = Promise.withResolvers<void>();
  let listening: KeeperListener | undefined;
  let idle: NodeJS.Timeout | undefined;
  const updateIdleTimer = (): void => {
    if (processes.count() > 0 || listening?.countOpenRequests() !== 0) {
      clearTimeout(idle);
      idle = undefined;
    } else idle ??= setTimeout(done.resolve, idleMs);
  };
  const processes = createKeeperProcesses({
    ...options,
    keeper: runner.id,
    graceMs,
    onChange: updateIdleTimer,
  });
  const ending = new AbortController();
  every(adoptMs, ending.signal, () => processes.adopt(), onError);
  every(CHECK_MS, ending.signal, () => processes.checkDetached(), onError);
  try {
    await processes.adopt();
    listening = await listenForRequests({
      socket: options.socket,
      log,
      handle: processes.handle,
      onChange: updateIdleTimer,
    });
    updateIdleTimer();
    log.info({ socket: options.socket }, "the keeper listens");
    signal.addEventListener("abort", () => done.resolve(), { once: true });
    if (!signal.aborted) await done.promise;
  } finally {
    clearTimeout(idle);
    listening?.close();
    if (signal.aborted) await processes.endAll();
    ending.abort();
    await life.retire();
    log.info({}, "the keeper exits");
  }
}

/** False if another keeper answers. A lease holder that does not answer is starting or about to exit. */
async function acquireKeeperLease(
  { socket, lease = KEEPER_LEASE }: KeeperOptions,
  life: RunnerLife,
): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < TAKE_OVER_MS; ) {
    if (await isKeeperListening(socket)) return false;
    // Another keeper may have started and exited since, but it cannot run now: the lease was free.
    if ((await life.acquireLease({ name: lease })) !== undefined) return !(await isKeeperListening(socket));
    await pause(50);
  }
  return false;
}
