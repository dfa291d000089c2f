import type { Store } from "../../../ports/store.ts";
import { type SeenGateway, seenGateway } from "../../gateway-lease.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { note, say, sayJson } from "../io.ts";
import { withStore } from "../opening.ts";
import { runningText } from "../processes/words.ts";
import { dateAndTime, relativeTime } from "../relative-time.ts";
import { facts } from "../table.ts";

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
    const { gateway, waiting } = await withStore(io, async ({ store }) => ({
      gateway: await seenGateway(store, now),
      waiting: await whatWaits(store, now),
    }));
    if (values.json) sayJson(io, { ...gatewayJson(gateway), ...waiting });
    else {
      say(io, words(gateway, waiting, now));
      if (gateway === undefined)
        note(io, "postrider gateway run starts one; postrider gateway install makes it a service.");
    }
    return gateway === undefined ? NOT_RUNNING : 0;
  },
});

interface Waiting {
  /** Sessions with something to answer that no process works on. */
  readonly sessions_waiting: number;
  readonly deliveries_waiting: number;
  /** In the background, whoever asked for them. */
  readonly processes_running: number;
}

async function whatWaits(store: Store, now: number): Promise<Waiting> {
  const [work, deliveries, processes] = await Promise.all([
    store.work({ now }),
    store.deliveries({ dueAt: Number.MAX_SAFE_INTEGER, limit: MOST }),
    store.processes({ asker: { everyone: true } }),
  ]);
  return {
    sessions_waiting: work.length,
    deliveries_waiting: deliveries.length,
    processes_running: processes.length,
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

function words(gateway: SeenGateway | undefined, waiting: Waiting, now: number): string {
  const counts = [
    ["to answer", counted(waiting.sessions_waiting, "session")],
    ["to send", counted(waiting.deliveries_waiting, "message")],
    ["processes", runningText(waiting.processes_running)],
  ] as const;
  if (gateway === undefined) return ["No gateway runs.", ...facts(counts)].join("\n");
  const { since, runner, agent, connections } = gateway;
  return facts([
    ["running", since === undefined ? "yes" : `since ${dateAndTime(since)} (${relativeTime(since, now)})`],
    ["process", `${runner.pid} on ${runner.host}`],
    ["agent", agent],
    ...connections.map(({ platform, account, state }) => [platform, `${state} (${account})`] as const),
    ...counts,
  ]).join("\n");
}

function counted(count: number, what: string): string | undefined {
  if (count === 0) return undefined;
  return count >= MOST ? `${MOST} ${what}s or more` : `${count} ${what}${count === 1 ? "" : "s"}`;
}
