import { PostriderError } from "../core/errors.ts";
import type { HeldLease, Runner } from "../core/runner.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { RunnerLife } from "../system/runner-life.ts";

/** One gateway per home: its process holds this lease, and publishes its start time and its agent with it. */
const GATEWAY_LEASE = "gateway";

/** A gateway that runs, as everybody who opens the home can see it. */
export interface RunningGateway {
  readonly runner: Runner;
  readonly since?: number;
  readonly agent?: string;
  /** Its process exists on this machine, but it has stored nothing since its last heartbeat, then. */
  readonly silentSince?: number;
  readonly connections: readonly {
    readonly platform: string;
    readonly account: string;
    /** In its holder's words: `connecting`, `connected`, or what is wrong. */
    readonly state: string;
  }[];
}

/** Takes the lease of the home's gateway. Throws `in_use`, and names the holder, while another gateway lives. */
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

/** The gateway that runs now on this home's database, on this machine or another; also one that only cannot say so. */
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
    `A gateway runs already${who}${what}. postrider gateway status tells more, postrider gateway stop ends it.`,
    {
      details: {
        leases: [GATEWAY_LEASE, ...leases],
        ...(other && { pid: other.runner.pid, host: other.runner.host }),
      },
    },
  );
}

export function createTakenOverError(): PostriderError {
  return new PostriderError("in_use", "Another gateway has taken over in this home, so this one ends.");
}
