import { listCommandsFor } from "../commands/table.ts";
import { PostriderError } from "../core/errors.ts";
import { RUNNER_DEAD_MS } from "../core/runner.ts";
import type { Platform } from "../ports/platform.ts";
import { computeDueTime, type DueTime, isDue, pause } from "../system/pause.ts";
import { isStoreClosed } from "../turns/active-turns.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import { receiver } from "./receive.ts";

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;
/** A platform that said no is asked again now and then: its owner may have set things right. */
const REFUSED_RETRY_MS = 5 * 60_000;
/** A send starts only with more than this left of the lease. */
const SEND_MARGIN_MS = 10_000;

/** A connection that one process may have at a time. */
export interface LeasedConnection {
  readonly name: string;
  /** Whether enough is left of the lease for something to be sent. */
  canSend(): boolean;
  /** Renews it, saying how things are. False when another has it by now. */
  renew(): Promise<boolean>;
  setStatus(about: string): void;
  release(): Promise<void>;
}

/** `undefined` while another process that lives has it. */
export async function leaseConnection(
  { store, clock, runner }: Pick<Flow, "store" | "clock" | "runner">,
  platform: Platform,
): Promise<LeasedConnection | undefined> {
  const name = buildConnectionName(platform);
  let about = "connecting";
  let sendsUntil: DueTime | undefined;
  const keep = async (): Promise<boolean> => {
    const margin = computeDueTime(clock, RUNNER_DEAD_MS - SEND_MARGIN_MS);
    const held = await store.runners.acquireLease({
      name,
      runner,
      ttlMs: RUNNER_DEAD_MS,
      about,
      now: clock.now(),
    });
    sendsUntil = held === undefined ? undefined : margin;
    return held !== undefined;
  };
  if (!(await keep())) return undefined;
  let isRenewing = false;
  return {
    name,
    canSend() {
      if (sendsUntil === undefined) return false;
      if (!isDue(sendsUntil, clock)) return true;
      // The clock was set ahead, or the machine slept: nobody waits for the next heartbeat to renew it.
      if (isRenewing) return false;
      isRenewing = true;
      keep()
        .catch(() => {}) // the next heartbeat tells
        .finally(() => {
          isRenewing = false;
        });
      return false;
    },
    renew: keep,
    setStatus: (words) => {
      about = words;
    },
    async release() {
      await store.runners.releaseLease({ name, runner });
    },
  };
}

export function buildConnectionName({ name, account }: Pick<Platform, "name" | "account">): string {
  return `platform:${name}:${account}`;
}

/** Receives from a platform for as long as the gateway runs, whatever happens to the connection. */
export async function stayConnected(
  flow: Flow,
  connected: PlatformConnection,
  held: LeasedConnection,
  signal: AbortSignal,
): Promise<void> {
  const { platform } = connected;
  const about = { platform: platform.name, account: platform.account };
  let failures = 0;
  const isUp = (): void => {
    failures = 0;
    held.setStatus("connected");
    // Said at once, and not with the next heartbeat: whoever asks how it is should not read that it is connecting.
    runInBackground(flow.log, "saying that it is connected", held.renew());
    flow.log.info(about, "connected");
    offerMenu(flow, connected, signal);
  };
  while (!signal.aborted) {
    try {
      await platform.run(receiver(flow, connected, isUp), signal);
      if (!signal.aborted) throw new PostriderError("platform_down", "The connection has ended by itself.");
    } catch (error) {
      if (signal.aborted) return;
      // Without a store nothing can be taken in, however often it is brought again.
      if (isStoreClosed(error)) throw error;
      const { message } = error as Error;
      const isRefused = error instanceof PostriderError && error.code === "platform_refused";
      failures += 1;
      const wait = isRefused
        ? REFUSED_RETRY_MS
        : Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, failures - 1));
      held.setStatus(`${isRefused ? "refused" : "down"}: ${message}`);
      flow.log.error({ ...about, error, retryMs: wait }, isRefused ? "refused" : "not connected");
      await held.renew().catch(() => false);
      await pause(wait, signal);
    }
  }
}

function offerMenu(flow: Flow, { platform }: PlatformConnection, signal: AbortSignal): void {
  if (platform.setMenu === undefined) return;
  const menu = listCommandsFor({ role: "member", kind: "messenger" }, flow.customCommands).map(
    ({ name, summary }) => ({
      name,
      summary,
    }),
  );
  platform
    .setMenu(menu, signal)
    .catch((error: unknown) => flow.log.warn({ error }, "the menu could not be offered"));
}
