import { listCommandsFor } from "../commands/table.ts";
import { type BackOff, computeBackOff } from "../core/back-off.ts";
import { PostriderError } from "../core/errors.ts";
import type { Platform } from "../ports/platform.ts";
import { pause } from "../system/pause.ts";
import type { RunnerLife } from "../system/runner-life.ts";
import { isStoreClosed } from "../turns/active-turns.ts";
import { type Flow, type PlatformConnection, runInBackground } from "./flow.ts";
import { receiver } from "./receive.ts";

const RECONNECT: BackOff = { firstMs: 1000, maxMs: 60_000 };
/** A platform that refused the connection is retried rarely: its owner may have corrected the settings. */
const REFUSED_RETRY_MS = 5 * 60_000;
/** A send starts only with more than this left of the lease. */
const SEND_MARGIN_MS = 10_000;

/** A connection that one process may have at a time. */
export interface LeasedConnection {
  readonly name: string;
  /** Whether enough is left of the lease to start a send. */
  canSend(): boolean;
  /** Renews the lease and publishes the status. False when another process holds it now. */
  renew(): Promise<boolean>;
  setStatus(status: string): void;
  release(): Promise<void>;
}

/** `undefined` while another live process holds the connection. */
export async function leaseConnection(
  life: RunnerLife,
  platform: Platform,
  onLost: (name: string) => void,
): Promise<LeasedConnection | undefined> {
  const name = buildConnectionName(platform);
  let status = "connecting";
  const lease = await life.acquireLease({ name, about: () => status, onLost: () => onLost(name) });
  if (lease === undefined) return undefined;
  return {
    name,
    canSend: () => lease.hasLeft(SEND_MARGIN_MS),
    renew: lease.renew,
    setStatus: (next) => {
      status = next;
    },
    release: lease.release,
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
      const wait = isRefused ? REFUSED_RETRY_MS : computeBackOff(RECONNECT, failures);
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
