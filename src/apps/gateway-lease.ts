import { PostriderError } from "../core/errors.ts";
import type { HeldLease, Runner } from "../core/runner.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { RunnerLife } from "../system/runner-life.ts";

/** The lease that makes a process the gateway of a home. Its details are the start time and the agent. */
const GATEWAY_LEASE = "gateway";

/** A running gateway, as other processes of the home see it. */
export interface RunningGateway {
  readonly runner: Runner;
  readonly since?: number;
  readonly agent?: string;
  /** The time of the last heartbeat, if the process exists but has stored nothing since. */
  readonly silentSince?: number;
  readonly connections: readonly {
    readonly platform: string;
    readonly account: string;
    /** `connecting`, `connected`, or the problem. */
    readonly state: string;
  }[];
}

/** Acquires the lease. Throws `in_use` and names the holder while another gateway lives. */
export async function acquireGatewayLease(options: {
  readonly store: Store;
  readonly clock: Clock;
  readonly life: RunnerLife;
  /** The name of the agent that answers now. */
  agent(): string;
  onLost(): void;
}): Promise<void> {
  const { store, clock, life, onLost } = options;
  const since = clock.now();
  const about = (): string => JSON.stringify({ since, agent: options.agent() });
  if ((await life.acquireLease({ name: GATEWAY_LEASE, about, onLost })) !== undefined) return;
  const other = await findRunningGateway(store, clock.now());
  await life.retire();
  throw createAlreadyRunningError(other);
}

/** Finds the running gateway of this home, on any machine, including one whose heartbeat fails. */
export async function findRunningGateway(store: Store, now: number): Promise<RunningGateway | undefined> {
  const leases = await store.runners.listLeases({ now, silent: true });
  const own = leases.find(({ name }) => name === GATEWAY_LEASE);
  if (own === undefined) return undefined;
  return {
    runner: own.runner,
    ...parseLeaseDetails(own),
    ...(own.silentSince !== undefined && { silentSince: own.silentSince }),
    connections: leases.flatMap(({ name, runner, about = "connecting" }) => {
      const [, platform, account] = /^platform:([^:]+):(.*)$/s.exec(name) ?? [];
      if (platform === undefined || account === undefined || runner.id !== own.runner.id) return [];
      return [{ platform, account, state: about }];
    }),
  };
}

function parseLeaseDetails({ about = "{}" }: HeldLease): Pick<RunningGateway, "since" | "agent"> {
  try {
    const { since, agent } = JSON.parse(about) as Record<string, unknown>;
    return {
      ...(typeof since === "number" && { since }),
      ...(typeof agent === "string" && { agent }),
    };
  } catch {
    return {};
  }
}

function createAlreadyRunningError(other: RunningGateway | undefined): PostriderError {
  const leases = other?.connections.map(({ platform, account }) => `platform:${platform}:${account}`) ?? [];
  const who = other === undefined ? "" : `, process ${other.runner.pid} on ${other.runner.host}`;
  const what = leases.length === 0 ? "" : `, and holds ${leases.join(", ")}`;
  return new PostriderError(
    "in_use",
    `A gateway is already running${who}${what}. To see its state: postrider gateway status. To stop it: postrider gateway stop.`,
    {
      details: {
        leases: [GATEWAY_LEASE, ...leases],
        ...(other && { pid: other.runner.pid, host: other.runner.host }),
      },
    },
  );
}

export function createTakenOverError(): PostriderError {
  return new PostriderError("in_use", "Another gateway has taken over this home, so this one stops.");
}
