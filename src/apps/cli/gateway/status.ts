import type { Delivery } from "../../../core/delivery.ts";
import { PostriderError } from "../../../core/errors.ts";
import { homeChannelsOf, type NamedHome, originWords } from "../../../core/home-channel.ts";
import { onOneLine } from "../../../core/printable.ts";
import type { Store } from "../../../ports/store.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { procStat } from "../../../system/proc-stat.ts";
import { type SeenGateway, seenGateway } from "../../gateway-lease.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { configHere } from "../config/here.ts";
import { note, say, sayJson } from "../io.ts";
import { withStore } from "../opening.ts";
import { runningText } from "../processes/words.ts";
import { dateAndTime, relativeTime } from "../relative-time.ts";
import { facts } from "../table.ts";

/** So many messages that keep failing are named. */
const MOST_ASIDE = 20;
/** Counted up to here; more is "many". */
const MOST = 1000;
/** When there is none to ask, as with other services: 3. */
const NOT_RUNNING = 3;

export const status: Command = defineCommand({
  name: "gateway status",
  about: `Whether a gateway runs in this home, since when, as which process, how each connection is, and what waits. Exit code
0 if one runs, 3 if none does.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider gateway status", "how things are"],
    ["postrider gateway status --json", "for a script"],
  ],
  async run({ values }, io) {
    const now = io.now();
    // How the gateway is must be told also while the configuration is broken.
    const config = await configHere(io, true).catch((error: Error): undefined => {
      note(io, `postrider: ${error.message}`);
      return undefined;
    });
    const { gateway, trouble, homes, waiting } = await withStore(io, async ({ store }) => {
      const gateway = await seenGateway(store, now);
      return {
        gateway,
        trouble: gateway?.silentSince === undefined ? undefined : await findTrouble(store, gateway, now),
        homes: homeChannelsOf(config?.gateway.homes ?? [], await store.homes()),
        waiting: await whatWaits(store, now),
      };
    });
    if (values.json) {
      const home_channels = homes.map(homeJson);
      sayJson(io, { ...gatewayJson(gateway), trouble: trouble ?? null, home_channels, ...waiting });
    } else {
      say(io, words(gateway, homes, waiting, now, trouble));
      if (gateway === undefined)
        note(io, "postrider gateway run starts one; postrider gateway install makes it a service.");
    }
    return gateway === undefined ? NOT_RUNNING : 0;
  },
});

/** A message that keeps failing; later ones do not wait for it. */
interface AsideDelivery {
  readonly number: number;
  readonly platform: string;
  readonly chat: string;
  readonly since: number;
  readonly attempts: number;
  readonly last_error: string | null;
}

interface Waiting {
  /** Sessions with something to answer that no process works on. */
  readonly sessions_waiting: number;
  readonly deliveries_waiting: number;
  readonly deliveries_aside: readonly AsideDelivery[];
  /** In the background, whoever asked for them. */
  readonly processes_running: number;
}

async function whatWaits(store: Store, now: number): Promise<Waiting> {
  const [work, deliveries, aside, processes] = await Promise.all([
    store.work({ now }),
    store.deliveries({ dueAt: Number.MAX_SAFE_INTEGER, limit: MOST }),
    store.deliveriesAside({ limit: MOST_ASIDE }),
    store.processes({ asker: { everyone: true } }),
  ]);
  return {
    sessions_waiting: work.length,
    deliveries_waiting: deliveries.length,
    deliveries_aside: aside.map(asideJson),
    processes_running: processes.length,
  };
}

/** Why a gateway whose process exists has stored nothing for a while, as far as another process can tell. */
async function findTrouble(store: Store, gateway: SeenGateway, now: number): Promise<string> {
  const { runner, silentSince = now } = gateway;
  const since = `It has stored nothing since ${dateAndTime(silentSince)} (${relativeTime(silentSince, now)})`;
  if (procStat(runner.pid)?.state === "T")
    return `${since}: its process is stopped. kill -CONT ${runner.pid} lets it continue.`;
  const self = localRunner();
  try {
    // A write of our own meets what stops the gateway's.
    await store.beat({ runner: self, now });
    await store.retire({ runner: self.id });
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    const reason = error.code === "disk_full" ? "the disk is full" : "the database cannot be written";
    return `It runs, but cannot write: ${reason}. ${since}. ${error.message}`;
  }
  return `${since}, although its process exists and the database can be written. It hangs, or has just woken; if this stays, end it: kill ${runner.pid}.`;
}

function asideJson({ number, target, status }: Delivery): AsideDelivery {
  return {
    number,
    platform: target.platform,
    chat: target.chatId,
    since: ("asideAt" in status && status.asideAt) || 0,
    attempts: status.attempts,
    last_error: ("lastError" in status && status.lastError) || null,
  };
}

export function gatewayJson(gateway: SeenGateway | undefined): Record<string, unknown> {
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

function homeJson({ platform, chatId, name, from }: NamedHome): Record<string, unknown> {
  return { platform, chat_id: chatId, name, from };
}

function words(
  gateway: SeenGateway | undefined,
  homes: readonly NamedHome[],
  waiting: Waiting,
  now: number,
  trouble: string | undefined,
): string {
  const counts = [
    ...homes.map(
      (home) => ["home", `${home.platform}: ${home.name} (${home.chatId}), ${originWords(home)}`] as const,
    ),
    ["to answer", counted(waiting.sessions_waiting, "session")],
    ["to send", counted(waiting.deliveries_waiting, "message")],
    ...waiting.deliveries_aside.map((one) => ["keeps failing", asideText(one, now)] as const),
    ["processes", runningText(waiting.processes_running)],
  ] as const;
  if (gateway === undefined) return ["No gateway runs.", ...facts(counts)].join("\n");
  const { since, runner, agent, connections } = gateway;
  return facts([
    ["running", since === undefined ? "yes" : `since ${dateAndTime(since)} (${relativeTime(since, now)})`],
    ["trouble", trouble],
    ["process", `${runner.pid} on ${runner.host}`],
    ["agent", agent],
    ...connections.map(({ platform, account, state }) => [platform, `${state} (${account})`] as const),
    ...counts,
  ]).join("\n");
}

function asideText(
  { number, platform, chat, since, attempts, last_error }: AsideDelivery,
  now: number,
): string {
  const why = last_error === null ? "" : `: ${onOneLine(last_error)}`;
  return `delivery ${number} to ${platform} ${onOneLine(chat)}, since ${relativeTime(since, now)}, attempts ${attempts}${why}`;
}

function counted(count: number, what: string): string | undefined {
  if (count === 0) return undefined;
  return count >= MOST ? `${MOST} ${what}s or more` : `${count} ${what}${count === 1 ? "" : "s"}`;
}
