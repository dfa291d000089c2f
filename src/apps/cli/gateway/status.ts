import type { Delivery } from "../../../core/delivery.ts";
import { PostriderError } from "../../../core/errors.ts";
import { formatHomeOrigin, mergeHomeChannels, type ResolvedHomeChannel } from "../../../core/home-channel.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Store } from "../../../ports/store.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { readProcStat } from "../../../system/proc-stat.ts";
import { findRunningGateway, listRunningGateways, type RunningGateway } from "../../gateway-lease.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { loadLocalConfig } from "../config/local-config.ts";
import { formatDateTime, formatRelativeTime } from "../format-time.ts";
import { printJson, printLine, printNotice } from "../io.ts";
import { withStore } from "../open-home.ts";
import { formatRunningCount } from "../processes/process-text.ts";
import { type Column, formatFacts, formatTable } from "../table.ts";

/** The number of failing deliveries that are listed. */
const MAX_FAILING = 20;
/** Counts stop here. */
const MAX_COUNTED = 1000;
/** The exit code of a service that does not run, as for systemctl. */
const NOT_RUNNING_EXIT = 3;

export const gatewayStatusCommand: Command = defineCommand({
  name: "gateway status",
  about: `Shows whether a gateway runs in this home, since when, its process, the state of each connection, and pending work.
The exit code is 0 if a gateway runs, otherwise 3.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider gateway status", "show the state"],
    ["postrider gateway status --json", "for a script"],
  ],
  async run({ values }, io) {
    const now = io.now();
    // The status must work while the configuration is broken.
    const config = await loadLocalConfig(io, true).catch((error: Error): undefined => {
      printNotice(io, `postrider: ${error.message}`);
      return undefined;
    });
    const { gateway, all, trouble, homes, waiting } = await withStore(io, async ({ store }) => {
      const gateway = await findRunningGateway(store, now);
      return {
        gateway,
        all: await listRunningGateways(store, now),
        trouble: gateway?.silentSince === undefined ? undefined : await findTrouble(store, gateway, now),
        homes: mergeHomeChannels(config?.gateway.homes ?? [], await store.conversations.listHomeChannels()),
        waiting: await countPendingWork(store, now),
      };
    });
    if (values.json) {
      const home_channels = homes.map(formatHomeJson);
      printJson(io, {
        ...formatGatewayJson(gateway),
        trouble: trouble ?? null,
        gateways: all.map(formatMemberJson),
        home_channels,
        ...waiting,
      });
    } else {
      printLine(io, formatStatus(gateway, homes, waiting, now, trouble));
      if (all.some(({ name }) => name !== undefined))
        printLine(io, `\n${formatMembers(all, now).join("\n")}`);
      if (gateway === undefined)
        printNotice(
          io,
          "To start one: postrider gateway run. To install it as a service: postrider gateway install.",
        );
    }
    return gateway === undefined ? NOT_RUNNING_EXIT : 0;
  },
});

/** A deferred delivery: it keeps failing, and later ones pass it. */
interface FailingDelivery {
  readonly number: number;
  readonly platform: string;
  readonly chat: string;
  readonly since: number;
  readonly attempts: number;
  readonly last_error: string | null;
}

interface PendingWork {
  /** Sessions with pending messages that no process works on. */
  readonly sessions_waiting: number;
  readonly deliveries_waiting: number;
  readonly deliveries_aside: readonly FailingDelivery[];
  /** Background processes of all people. */
  readonly processes_running: number;
}

async function countPendingWork(store: Store, now: number): Promise<PendingWork> {
  const [work, deliveries, aside, processes] = await Promise.all([
    store.turns.listClaimable({ now }),
    store.outbox.listPendingDeliveries({ dueAt: Number.MAX_SAFE_INTEGER, limit: MAX_COUNTED }),
    store.outbox.listDeferredDeliveries({ limit: MAX_FAILING }),
    store.processes.listProcesses({ asker: { everyone: true } }),
  ]);
  return {
    sessions_waiting: work.length,
    deliveries_waiting: deliveries.length,
    deliveries_aside: aside.map(formatFailingDeliveryJson),
    processes_running: processes.length,
  };
}

/** Why a gateway whose process exists has stored nothing for a while. */
async function findTrouble(store: Store, gateway: RunningGateway, now: number): Promise<string> {
  const { runner, silentSince = now } = gateway;
  const since = `It has stored nothing since ${formatDateTime(silentSince)} (${formatRelativeTime(silentSince, now)})`;
  if (readProcStat(runner.pid)?.state === "T")
    return `${since}: its process is stopped. To continue it: kill -CONT ${runner.pid}`;
  const self = localRunner();
  try {
    // A write of our own shows the error that blocks the gateway.
    await store.runners.recordHeartbeat({ runner: self, now });
    await store.runners.retire({ runner: self.id });
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    const reason = error.code === "disk_full" ? "the disk is full" : "the database cannot be written";
    return `It runs, but cannot write: ${reason}. ${since}. ${error.message}`;
  }
  return `${since}, although its process exists and the database can be written. It hangs or has just resumed; if this persists, end it: kill ${runner.pid}`;
}

function formatFailingDeliveryJson({ number, target, status }: Delivery): FailingDelivery {
  return {
    number,
    platform: target.platform,
    chat: target.chatId,
    since: ("deferredAt" in status && status.deferredAt) || 0,
    attempts: status.attempts,
    last_error: ("lastError" in status && status.lastError) || null,
  };
}

export function formatGatewayJson(gateway: RunningGateway | undefined): Record<string, unknown> {
  return {
    running: gateway !== undefined,
    since: gateway?.since ?? null,
    pid: gateway?.runner.pid ?? null,
    host: gateway?.runner.host ?? null,
    agent: gateway?.agent ?? null,
    platforms:
      gateway?.connections.map(({ platform, account, state }) => ({ platform, account, state })) ?? [],
  };
}

const MEMBER_COLUMNS: readonly Column[] = [
  { heading: "kind" },
  { heading: "name" },
  { heading: "process" },
  { heading: "version" },
  { heading: "started" },
  { heading: "turns", align: "right" },
  { heading: "connections" },
];

/** One line for each gateway and worker on a shared store. */
function formatMembers(all: readonly RunningGateway[], now: number): string[] {
  const rows = all.map((one) => [
    one.kind,
    one.name ?? "",
    `${one.runner.pid} on ${one.runner.host}`,
    one.version ?? "",
    one.since === undefined ? "" : formatRelativeTime(one.since, now),
    String(one.turns ?? 0),
    formatConnections(one, now),
  ]);
  return formatTable(MEMBER_COLUMNS, rows, Number.POSITIVE_INFINITY);
}

function formatConnections({ kind, connections, silentSince }: RunningGateway, now: number): string {
  if (silentSince !== undefined) return `silent since ${formatRelativeTime(silentSince, now)}`;
  if (connections.length === 0) return kind === "gateway" ? "standby" : "";
  return connections.map(({ platform, state }) => `${platform} ${toOneLine(state)}`).join(", ");
}

function formatMemberJson(one: RunningGateway): Record<string, unknown> {
  return {
    kind: one.kind,
    name: one.name ?? null,
    host: one.runner.host,
    pid: one.runner.pid,
    version: one.version ?? null,
    since: one.since ?? null,
    agent: one.agent ?? null,
    turns: one.turns ?? null,
    silent_since: one.silentSince ?? null,
    platforms: one.connections.map(({ platform, account, state }) => ({ platform, account, state })),
  };
}

function formatHomeJson({ platform, chatId, name, from }: ResolvedHomeChannel): Record<string, unknown> {
  return { platform, chat_id: chatId, name, from };
}

function formatStatus(
  gateway: RunningGateway | undefined,
  homes: readonly ResolvedHomeChannel[],
  waiting: PendingWork,
  now: number,
  trouble: string | undefined,
): string {
  const counts = [
    ...homes.map(
      (home) =>
        ["home", `${home.platform}: ${home.name} (${home.chatId}), ${formatHomeOrigin(home)}`] as const,
    ),
    ["to answer", formatPendingCount(waiting.sessions_waiting, "session")],
    ["to send", formatPendingCount(waiting.deliveries_waiting, "message")],
    ...waiting.deliveries_aside.map((one) => ["keeps failing", describeFailingDelivery(one, now)] as const),
    ["processes", formatRunningCount(waiting.processes_running)],
  ] as const;
  if (gateway === undefined) return ["No gateway runs.", ...formatFacts(counts)].join("\n");
  const { since, runner, agent, connections } = gateway;
  return formatFacts([
    [
      "running",
      since === undefined ? "yes" : `since ${formatDateTime(since)} (${formatRelativeTime(since, now)})`,
    ],
    ["trouble", trouble],
    ["process", `${runner.pid} on ${runner.host}`],
    ["agent", agent],
    ...connections.map(({ platform, account, state }) => [platform, `${state} (${account})`] as const),
    ...counts,
  ]).join("\n");
}

function describeFailingDelivery(
  { number, platform, chat, since, attempts, last_error }: FailingDelivery,
  now: number,
): string {
  const why = last_error === null ? "" : `: ${toOneLine(last_error)}`;
  return `delivery ${number} to ${platform} ${toOneLine(chat)}, since ${formatRelativeTime(since, now)}, attempts ${attempts}${why}`;
}

function formatPendingCount(count: number, what: string): string | undefined {
  if (count === 0) return undefined;
  return count >= MAX_COUNTED
    ? `${MAX_COUNTED} ${what}s or more`
    : `${count} ${what}${count === 1 ? "" : "s"}`;
}
