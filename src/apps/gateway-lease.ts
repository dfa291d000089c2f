import { hostname } from "node:os";
import { PostriderError } from "../core/errors.ts";
import type { HeldLease, Runner } from "../core/runner.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { isOwnPidScope } from "../system/process-identity.ts";
import type { RunnerLife } from "../system/runner-life.ts";

/** The lease that makes a process the gateway of a home with its own database file. */
const GATEWAY_LEASE = "gateway";

/** How a process announces itself to the others that use the store. */
export interface Announcement {
  readonly kind: "gateway" | "worker";
  /** Absent: the only gateway of the store. */
  readonly name?: string;
}

/** A running gateway or worker, as other processes see it. */
export interface RunningGateway {
  readonly kind: "gateway" | "worker";
  /** Absent if the store can have only one gateway. */
  readonly name?: string;
  readonly runner: Runner;
  readonly since?: number;
  readonly agent?: string;
  readonly version?: string;
  /** The number of running turns, as of the last heartbeat. */
  readonly turns?: number;
  /** The time of the last heartbeat, if the process exists but has stored nothing since. */
  readonly silentSince?: number;
  readonly connections: readonly {
    readonly platform: string;
    readonly account: string;
    /** `connecting`, `connected`, or the problem. */
    readonly state: string;
  }[];
}

/** Acquires the lease. Throws `in_use` and names the holder while another process with this announcement lives. */
export async function acquireGatewayLease(options: {
  readonly store: Store;
  readonly clock: Clock;
  readonly life: RunnerLife;
  readonly as: Announcement;
  /** What others read about this process: the agent that answers now, the version, the number of turns. */
  details(): Pick<RunningGateway, "agent" | "version" | "turns">;
  onLost(): void;
}): Promise<void> {
  const { store, clock, life, as, onLost } = options;
  const since = clock.now();
  const about = (): string => JSON.stringify({ since, ...options.details() });
  const name = buildLeaseName(as);
  if ((await life.acquireLease({ name, about, onLost })) !== undefined) return;
  const other = (await listRunningGateways(store, clock.now())).find((one) => buildLeaseName(one) === name);
  await life.retire();
  throw createAlreadyRunningError(as, other);
}

function buildLeaseName({ kind, name }: Announcement): string {
  return name === undefined ? kind : `${kind}:${name}`;
}

/** All gateways and workers on the store, on any machine, including one whose heartbeat fails. Gateways come first. */
export async function listRunningGateways(store: Store, now: number): Promise<readonly RunningGateway[]> {
  const leases = await store.runners.listLeases({ now, silent: true });
  return leases.flatMap((lease) => {
    const [, kind, name] = /^(gateway|worker)(?::(.*))?$/s.exec(lease.name) ?? [];
    if (kind !== "gateway" && kind !== "worker") return [];
    return [
      {
        kind,
        ...(name !== undefined && { name }),
        runner: lease.runner,
        ...parseLeaseDetails(lease),
        ...(lease.silentSince !== undefined && { silentSince: lease.silentSince }),
        connections: leases.flatMap((one) => readConnection(one, lease.runner)),
      },
    ];
  });
}

/** The gateway of this home: of several on a shared store, the one on this machine, or else the first. */
export async function findRunningGateway(store: Store, now: number): Promise<RunningGateway | undefined> {
  const gateways = (await listRunningGateways(store, now)).filter(({ kind }) => kind === "gateway");
  const isHere = ({ runner: { host, boot } }: RunningGateway): boolean =>
    host === hostname() && isOwnPidScope(boot);
  return gateways.find(isHere) ?? gateways[0];
}

function readConnection(
  { name, runner, about = "connecting" }: HeldLease,
  holder: Runner,
): RunningGateway["connections"] {
  const [, platform, account] = /^platform:([^:]+):(.*)$/s.exec(name) ?? [];
  if (platform === undefined || account === undefined || runner.id !== holder.id) return [];
  return [{ platform, account, state: about }];
}

function parseLeaseDetails({
  about = "{}",
}: HeldLease): Pick<RunningGateway, "since" | "agent" | "version" | "turns"> {
  try {
    const { since, agent, version, turns } = JSON.parse(about) as Record<string, unknown>;
    return {
      ...(typeof since === "number" && { since }),
      ...(typeof agent === "string" && { agent }),
      ...(typeof version === "string" && { version }),
      ...(typeof turns === "number" && { turns }),
    };
  } catch {
    return {};
  }
}

function createAlreadyRunningError(as: Announcement, other: RunningGateway | undefined): PostriderError {
  if (as.name !== undefined)
    return new PostriderError(
      "in_use",
      `A ${as.kind} with the name ${as.name} already runs${other === undefined ? "" : `: process ${other.runner.pid} on ${other.runner.host}`}. Give each its own name: gateway.name in config.yaml, or POSTRIDER_GATEWAY_NAME.`,
      {
        details: {
          leases: [buildLeaseName(as)],
          ...(other && { pid: other.runner.pid, host: other.runner.host }),
        },
      },
    );
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
