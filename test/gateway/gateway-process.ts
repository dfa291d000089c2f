import { createInterface } from "node:readline";
import { script } from "../../src/agents/script.ts";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import type { PlatformTraits } from "../../src/core/platforms.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { localRunner, NO_RESET, sqliteStore, systemClock } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Log } from "../../src/ports/log.ts";
import type { Store } from "../../src/ports/store.ts";
import type { ToolHost } from "../../src/turns/build-tools.ts";
import { endWithParent, say } from "../support/child.ts";
import { errandAgent } from "./errand-agent.ts";
import { fakePlatform } from "./fake-platform.ts";
import { type Hit, killSwitch, watchAgent, watchPlatform, watchStore } from "./kill-switch.ts";
import { tellingAgent } from "./telling-agent.ts";

export interface ChildOptions {
  /** The database. */
  readonly file: string;
  readonly judge: {
    readonly url: string;
    readonly token: string;
    readonly effects: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  };
  readonly outbound?: PlatformTraits["outbound"];
  /** The crash point; see `killSwitch`. */
  readonly killAt?: string;
  /** The point with a delay; see `killSwitch`. */
  readonly slowAt?: string;
  readonly streaming?: boolean;
  readonly busy?: GatewaySettings["busy"];
  /** Other settings than these. */
  readonly settings?: Partial<GatewaySettings>;
  /** The agent: by default the errand agent; or one that reports its input to the judge; or a script. */
  readonly agent?: "telling" | { readonly script: unknown };
  /** The maximum size of the database. */
  readonly maxBytes?: number;
  /** How the store runs; by default as in the program. To start its threads takes half of the processor time of a start. */
  readonly storeMode?: "workers" | "in-process";
  /** The error of its system clock, changed later by lines of `{ aheadMs }`. */
  readonly aheadMs?: number;
  /** The home folder of the database: agents get tools, and its keeper runs their processes. */
  readonly home?: string;
}

/** Its output, one value per line. */
export type ChildLine =
  | { readonly ready: true }
  /** It failed to start, or had to end. */
  | { readonly failed: string; readonly words: string }
  | { readonly closed: true }
  | { readonly level: "info" | "warn" | "error"; readonly words: string; readonly fields: unknown };

/** Everybody may write, nothing is reset, and messages wait for their turn. */
export const OPEN_SETTINGS: GatewaySettings = {
  zone: "UTC",
  profile: "main",
  reset: { default: NO_RESET, byType: {}, byPlatform: {} },
  scope: {},
  privacy: {},
  access: { everywhere: { allowAll: true }, platforms: {} },
  busy: "queue",
  maxPending: 1000,
  turnMinutes: 5,
  streaming: false,
  personalities: {},
  homes: [],
  tools: DEFAULT_TOOLS,
  memory: { enabled: true, flush: true },
};

/** `changed` wraps the agent before its first request. */
export async function runGateway(
  options: ChildOptions,
  changed: (agent: Agent) => Agent = (agent) => agent,
): Promise<void> {
  const { file, judge, outbound, killAt, streaming = false, busy = "queue", maxBytes, home } = options;
  const { storeMode: mode = "workers" } = options;
  endWithParent();
  const hit = killSwitch(killAt, options.slowAt);
  const store = watchStore(
    await sqliteStore({ file, mode, ...(maxBytes !== undefined && { maxBytes }) }),
    hit,
  );
  const platform = fakePlatform({
    url: judge.url,
    token: judge.token,
    ...(outbound !== undefined && { outbound }),
    ...(streaming && { draftEveryMs: 30 }),
  });
  const agent = watchAgent(changed(agentOf(options, hit)), hit);
  const settings: GatewaySettings = { ...OPEN_SETTINGS, busy, streaming, ...options.settings };
  const equipment = home === undefined ? undefined : await buildEquipment(home, store);
  const gateway = await startGateway({
    ...(equipment !== undefined && { toolHost: equipment }),
    store,
    runner: localRunner(),
    clock: options.aheadMs === undefined ? systemClock : clockAhead(options.aheadMs),
    platforms: [watchPlatform(platform, hit, () => say({ ready: true } satisfies ChildLine))],
    settings: () => settings,
    agent: () => agent,
    log: printed(),
  }).catch(ended);
  gateway.ended.catch(ended);
  // Closes the store while the gateway uses it.
  process.once("SIGUSR2", () => void store.close().then(() => say({ closed: true } satisfies ChildLine)));
  process.once("SIGTERM", () => {
    void gateway
      .stop()
      .then(() => equipment?.processes.close())
      .then(() => store.close())
      .then(() => process.exit(0));
  });
}

/** Loaded only if it is needed: most gateways have no tools, and start faster without these modules. */
async function buildEquipment(home: string, store: Store): Promise<ToolHost> {
  const [{ buildToolHost }, { connectHomeProcesses }, { resolveHome }] = await Promise.all([
    import("../../src/apps/build-tool-host.ts"),
    import("../../src/apps/connect-home-processes.ts"),
    import("../../src/apps/home.ts"),
  ]);
  return buildToolHost({
    home: resolveHome({ POSTRIDER_HOME: home }),
    environment: process.env,
    processes: connectHomeProcesses({ folder: home }, store, systemClock),
    config: () => undefined,
  });
}

/** A system clock that the parent process sets; durations are real. */
function clockAhead(first: number): Clock {
  let aheadMs = first;
  createInterface({ input: process.stdin }).on("line", (line) => {
    aheadMs = (JSON.parse(line) as { readonly aheadMs: number }).aheadMs;
  });
  return { ...systemClock, now: () => Date.now() + aheadMs };
}

/** Reports the error and exits. */
export function ended(error: unknown): never {
  const { code = "", message } = error as Error & { readonly code?: string };
  say({ failed: code, words: message } satisfies ChildLine);
  process.exit(1);
}

function agentOf({ agent, judge: { effects } }: ChildOptions, hit: Hit): Agent {
  if (agent === "telling") return tellingAgent(effects);
  return agent === undefined ? errandAgent({ effects, hit }) : script(agent.script);
}

/** Prints each entry as a line. */
export function printed(): Log {
  const tell = (level: "info" | "warn" | "error") => (fields: object, words: string) =>
    say({ level, words, fields: readable(fields) } satisfies ChildLine);
  return { debug: () => {}, info: tell("info"), warn: tell("warn"), error: tell("error") };
}

/** The fields of an error, which JSON omits. */
function readable(fields: object): unknown {
  return JSON.parse(
    JSON.stringify(fields, (_, value: unknown) => (value instanceof Error ? describeError(value) : value)),
  );
}

function describeError(error: Error & { readonly code?: unknown }): string {
  return `${typeof error.code === "string" ? `${error.code}: ` : ""}${error.stack}`;
}
