import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { PostriderError } from "../core/errors.ts";
import { type Gateway, startGateway } from "../gateway/gateway.ts";
import type { PluginAgent } from "../gateway/plugin.ts";
import type { Agent } from "../ports/agent.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { localRunner } from "../system/local-runner.ts";
import { pause } from "../system/pause.ts";
import { runnerLife } from "../system/runner-life.ts";
import { systemClock } from "../system/system-clock.ts";
import type { ToolHost } from "../turns/build-tools.ts";
import { buildToolHost } from "./build-tool-host.ts";
import { chooseAgent } from "./choose-agent.ts";
import type { LogLevel } from "./config/config.ts";
import type { OpenConfig } from "./config/open-config.ts";
import { connectHomeProcesses } from "./connect-home-processes.ts";
import { startDailyCopies } from "./daily-copies.ts";
import { exitOnLostStore } from "./exit-on-lost-store.ts";
import { type Announcement, acquireGatewayLease, createTakenOverError } from "./gateway-lease.ts";
import type { Home } from "./home.ts";
import { type LoadedHooks, loadHooks } from "./hooks/load-hooks.ts";
import { loadPlatforms } from "./load-platforms.ts";
import type { OpenLog } from "./log/open-log.ts";
import { collectSecrets } from "./log/secrets.ts";
import { isSharedStore, openHomeStore } from "./open-store.ts";
import { loadConfiguredPlugins } from "./plugins/configured-plugins.ts";
import { createPluginPlatforms } from "./plugins/plugin-platforms.ts";
import { isStoreAway, standByAgain } from "./stand-by-again.ts";
import { formatManualMove, makePrivateFolder, moveFormerWorkspaces, resolveWorkspaces } from "./workspace.ts";

export interface ComposeOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly config: OpenConfig;
  readonly log: OpenLog;
  /** The agent: `model`, `echo`, `script:FILE`, `./FILE.ts` or an agent of a plugin. */
  readonly agent?: string;
  /** Overrides the log level of the configuration. */
  readonly level?: LogLevel;
  /** Runs turns for the gateways on a shared store, and connects to no messenger. */
  readonly worker?: boolean;
  /** Shown by `postrider gateway status`. */
  readonly version?: string;
}

export interface ComposedGateway {
  readonly store: Store;
  readonly platforms: readonly Pick<Platform, "name" | "account">[];
  readonly agent: string;
  /** A notice about the agent for the person. */
  readonly hint?: string;
  /** Resolves when the gateway has shut down. */
  stop(): Promise<void>;
  /** Resolves at the end; rejects when another gateway has taken over. */
  readonly ended: Promise<void>;
}

/** Composes the gateway of a home: store, platforms, agent, hooks and daily copies. */
export async function composeGateway(options: ComposeOptions): Promise<ComposedGateway> {
  const { home, environment, config, log } = options;
  const plugins = await loadConfiguredPlugins(home, config.current(), (text) => log.warn({}, text));
  const host = { environment, log };
  const platforms = [
    ...(await loadPlatforms(config.current(), environment, log)),
    ...(await createPluginPlatforms(plugins?.states ?? [], host)),
  ];
  if (platforms.length === 0) throw createNoPlatformError();
  const answering = await createCurrentAgent(options, plugins?.agents);
  const hooks = await loadHooks(home, environment);
  for (const problem of hooks.problems) log.warn({}, problem);
  const onLost = exitOnLostStore((text) => log.error({ code: "store_lost" }, text));
  const isShared = await isSharedStore(home, environment);
  const store = await openWhenUp(options, () =>
    openHomeStore({ home, environment, mode: "workers", onLost }),
  );
  const equipment = buildToolHost({
    home,
    environment,
    processes: connectHomeProcesses(home, store, systemClock),
    config: () => config.current(),
  });

  /** Under a new runner each time: the work of the former one belongs to the gateway that took it over. */
  async function start(): Promise<StartedGateway> {
    const runner = localRunner();
    const lost = Promise.withResolvers<never>();
    lost.promise.catch(() => {}); // `ended` reports it
    const life = await runnerLife({
      store,
      clock: systemClock,
      runner,
      onError: (error) => log.error({ error }, "the heartbeat of the gateway failed; the gateway retries"),
    });
    try {
      let gateway: Gateway | undefined;
      await acquireGatewayLease({
        store,
        clock: systemClock,
        life,
        as: announce(options, isShared),
        details: () => ({
          agent: answering.current().name,
          ...(options.version !== undefined && { version: options.version }),
          turns: gateway?.countTurns() ?? 0,
        }),
        onLost: () => lost.reject(createTakenOverError()),
      });
      prepareWorkspaces(options);
      gateway = await startGateway({
        toolHost: equipment,
        store,
        runner,
        life,
        clock: systemClock,
        platforms,
        settings: () => config.current().gateway,
        agent: answering.current,
        log,
        standby: isShared,
        worker: options.worker ?? false,
        hooks: [...hooks.hooks, ...(plugins?.plugins ?? []).flatMap((plugin) => plugin.hooks ?? [])],
        tools: plugins?.tools ?? [],
        commands: (plugins?.plugins ?? []).flatMap((plugin) => plugin.commands ?? []),
      });
      return { gateway, lost: lost.promise, runner: runner.id };
    } catch (error) {
      await life.retire();
      throw error;
    }
  }

  try {
    const started = await start();
    const { hint } = answering;
    return {
      store,
      platforms,
      agent: answering.current().name,
      ...(hint !== undefined && { hint }),
      ...superviseGateway(options, {
        started,
        ...(isShared && { restart: start }),
        store,
        hooks,
        currentAgent: answering,
        toolHost: equipment,
      }),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function announce({ config, worker }: ComposeOptions, isShared: boolean): Announcement {
  const { gatewayName } = config.current();
  if (worker) return { kind: "worker", name: gatewayName ?? `${hostname()}-${process.pid}` };
  return isShared ? { kind: "gateway", name: gatewayName ?? hostname() } : { kind: "gateway" };
}

/** How long a gateway waits for a database server that starts at the same time. */
const STORE_WAIT_MS = 60_000;
const STORE_RETRY_MS = 2000;

/** Opens the store, and waits for a server that is not up yet. */
async function openWhenUp({ log }: ComposeOptions, open: () => Promise<Store>): Promise<Store> {
  const until = performance.now() + STORE_WAIT_MS;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isStoreAway(error) || performance.now() > until) throw error;
      log.warn({ error }, "the database cannot be reached yet; the gateway retries");
      await pause(STORE_RETRY_MS);
    }
  }
}

/** Creates the workspaces, and moves the files of earlier versions out of the home. */
function prepareWorkspaces({ home, config, log }: ComposeOptions): void {
  const { tools } = config.current().gateway;
  const workspaces = resolveWorkspaces(home, tools);
  const moved = moveFormerWorkspaces(home, workspaces);
  if (moved.state === "moved")
    log.warn({}, `moved the workspaces of agents out of the home: from ${moved.from} to ${workspaces}`);
  if (moved.state === "left")
    log.warn(
      {},
      `agents now work in ${workspaces}, but ${moved.from} was not moved there: ${moved.why}. ${formatManualMove(moved.from, workspaces)}`,
    );
  if (tools.folder === undefined) makePrivateFolder(workspaces);
}

interface StartedGateway {
  readonly gateway: Gateway;
  /** Rejects when another gateway has taken over. */
  readonly lost: Promise<never>;
  readonly runner: string;
}

interface GatewayParts {
  readonly started: StartedGateway;
  /** Starts again as a standby, after another gateway has taken over. */
  restart?(): Promise<StartedGateway>;
  readonly store: Store;
  readonly hooks: LoadedHooks;
  readonly currentAgent: CurrentAgent;
  readonly toolHost: ToolHost;
}

/** Follows the configuration until the gateway ends, and closes everything then. */
function superviseGateway(
  { home, log, ...options }: ComposeOptions,
  parts: GatewayParts,
): Pick<ComposedGateway, "stop" | "ended"> {
  const { restart, store, hooks, currentAgent, toolHost } = parts;
  let { started } = parts;
  const stopping = new AbortController();
  // A server has its own backups.
  const copies =
    restart === undefined
      ? startDailyCopies({ home, store, runner: started.runner, notice: (text) => log.warn({}, text) })
      : undefined;
  let before = options.config.current();
  const unlisten = options.config.onChange((next) => {
    log.addSecrets(collectSecrets(options.environment, next));
    log.level(options.level ?? next.log.level);
    log.info({}, "the configuration changed");
    if (!isDeepStrictEqual(next.platforms, before.platforms))
      log.warn({}, "the platform settings changed; restart the gateway to apply them");
    if (!isDeepStrictEqual(next.plugins, before.plugins))
      log.warn({}, "the list of plugins changed; restart the gateway to apply it");
    if (!isDeepStrictEqual(next.model, before.model)) currentAgent.reload();
    before = next;
  });

  /** Resolves with whether the gateway was taken over and can stand by again. */
  async function untilTakenOver(): Promise<boolean> {
    try {
      await Promise.race([started.gateway.ended, started.lost]);
      return false;
    } catch (error) {
      const isTakenOver = error instanceof PostriderError && error.code === "in_use";
      if (restart === undefined || stopping.signal.aborted || !isTakenOver) throw error;
      log.warn({ error }, "another gateway has taken over; this one stands by");
      await started.gateway.stop().catch(() => {}); // `ended` has reported the reason
      return true;
    }
  }

  async function untilEnd(): Promise<void> {
    try {
      while ((await untilTakenOver()) && restart !== undefined)
        started = await standByAgain({
          store,
          log,
          formerRunner: started.runner,
          start: restart,
          signal: stopping.signal,
        });
    } finally {
      unlisten();
      await copies?.stop();
      await started.gateway.stop();
      await hooks.close();
      await toolHost.processes.close();
      await store.close();
    }
  }
  const ended = untilEnd();
  ended.catch(() => {}); // callers of `ended` handle it
  return {
    ended,
    async stop() {
      stopping.abort();
      await copies?.stop();
      await started.gateway.stop();
      await ended;
    },
  };
}

interface CurrentAgent {
  current(): Agent;
  readonly hint?: string;
  /** Chooses the agent again from the current configuration. On an error the old agent stays. */
  reload(): void;
}

/** The current agent. A chat may choose another model of the same provider for its turns. */
async function createCurrentAgent(
  { agent: name, environment, config, log }: ComposeOptions,
  agents?: ReadonlyMap<string, PluginAgent>,
): Promise<CurrentAgent> {
  const chosen = () =>
    chooseAgent(name ?? environment.POSTRIDER_AGENT, environment, config.current().model, agents);
  const first = await chosen();
  let { agent } = first;
  return {
    current: () => agent,
    ...(first.hint !== undefined && { hint: first.hint }),
    reload() {
      chosen().then(
        (next) => {
          agent = next.agent;
          log.info({ agent: agent.name }, "the agent changed");
        },
        (error: unknown) => log.error({ error }, "the agent did not change, because the new settings failed"),
      );
    },
  };
}

function createNoPlatformError(): PostriderError {
  return new PostriderError(
    "invalid_config",
    "No messenger is configured, so the gateway has nothing to do. To set one up: postrider connect telegram",
  );
}
