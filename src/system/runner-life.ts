import { HEARTBEAT_MS, RUNNER_DEAD_MS, type Runner } from "../core/runner.ts";
import type { Clock } from "../ports/clock.ts";
import type { RunnerStore } from "../ports/runner-store.ts";
import { every } from "./every.ts";
import { computeDueTime, type DueTime, isDue } from "./pause.ts";

/** A process that is registered as a runner: it records heartbeats and renews its leases until it retires. */
export interface RunnerLife {
  readonly runner: Runner;
  /** Takes a lease, which every heartbeat renews from then on. `undefined` while another live runner holds it. */
  acquireLease(lease: LeaseRequest): Promise<KeptLease | undefined>;
  /** Ends the heartbeats. The runner counts as dead when its process ends, or half a minute later. */
  stop(): void;
  /** Ends the heartbeats, removes the runner, and frees all its leases. */
  retire(): Promise<void>;
}

export interface LeaseRequest {
  readonly name: string;
  /** What others read about the lease, as of each renewal. */
  about?(): string;
  /** A renewal has found that another runner holds the lease now. */
  onLost?(): void;
}

export interface KeptLease {
  readonly name: string;
  /** Renews it now, and not only with the next heartbeat. False when another runner holds it. */
  renew(): Promise<boolean>;
  /** Whether more than so much is left of the lease. If not, it is renewed in the background at once. */
  hasLeft(ms: number): boolean;
  /** Frees it. No heartbeat renews it any more. */
  release(): Promise<void>;
}

interface RunnerLifeOptions {
  readonly store: { readonly runners: RunnerStore };
  readonly clock: Clock;
  readonly runner: Runner;
  onError(error: unknown): void;
}

/** Registers the runner and starts its heartbeats. A failed heartbeat goes to `onError`; the next one tries again. */
export async function runnerLife(options: RunnerLifeOptions): Promise<RunnerLife> {
  const { store, clock, runner } = options;
  const kept = new Map<string, RenewableLease>();
  const ending = new AbortController();
  let round: Promise<void> = Promise.resolve();

  async function beat(): Promise<void> {
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    for (const [name, lease] of [...kept]) if (kept.has(name)) await lease.renew();
  }

  /** A heartbeat in progress would register again what is freed meanwhile. */
  async function finishRound(): Promise<void> {
    await round.catch(() => {}); // `onError` has it
  }

  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  every(
    HEARTBEAT_MS,
    ending.signal,
    () => {
      round = beat();
      return round;
    },
    (error) => options.onError(error),
  );
  return {
    runner,
    async acquireLease(request) {
      const { name } = request;
      const lease = renewableLease(options, request);
      if (!(await lease.renew())) return undefined;
      const renew = async (): Promise<boolean> => {
        const isHeld = await lease.renew();
        if (!isHeld && kept.has(name)) request.onLost?.();
        return isHeld;
      };
      kept.set(name, { ...lease, renew });
      return {
        name,
        hasLeft: lease.hasLeft,
        renew,
        async release() {
          kept.delete(name);
          lease.expire();
          await finishRound();
          await store.runners.releaseLease({ name, runner: runner.id });
        },
      };
    },
    stop: () => ending.abort(),
    async retire() {
      ending.abort();
      kept.clear();
      await finishRound();
      await store.runners.retire({ runner: runner.id });
    },
  };
}

interface RenewableLease extends Pick<KeptLease, "renew" | "hasLeft"> {
  /** Nothing is left of it from now on. */
  expire(): void;
}

function renewableLease(
  { store, clock, runner }: RunnerLifeOptions,
  { name, about }: LeaseRequest,
): RenewableLease {
  let until: DueTime | undefined;
  let fence: number | undefined;
  let isLost = false;
  let isRenewing = false;
  let isExpired = false;

  async function renew(): Promise<boolean> {
    if (isLost) return false;
    // Computed before the store is asked: the lease lasts at least until then.
    const due = computeDueTime(clock, RUNNER_DEAD_MS);
    const held = await store.runners.acquireLease({
      name,
      runner: runner.id,
      ttlMs: RUNNER_DEAD_MS,
      ...(about !== undefined && { about: about() }),
      now: clock.now(),
    });
    // With another fence it was taken over and became free again: the work of this runner was continued elsewhere.
    isLost ||= held === undefined || (fence !== undefined && held !== fence);
    fence = held;
    until = isLost ? undefined : due;
    return !isLost;
  }

  return {
    renew,
    expire() {
      isExpired = true;
    },
    hasLeft(ms) {
      if (until === undefined || isExpired) return false;
      const lastMoment = { monotonic: until.monotonic - ms, system: until.system - ms };
      if (!isDue(lastMoment, clock)) return true;
      // The clock was set ahead, or the machine slept: the next heartbeat would be too late.
      if (isRenewing) return false;
      isRenewing = true;
      renew()
        .catch(() => {}) // the next heartbeat reports it
        .finally(() => {
          isRenewing = false;
        });
      return false;
    },
  };
}
