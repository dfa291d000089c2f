import { isDeepStrictEqual } from "node:util";
import { PostriderError } from "../core/errors.ts";
import { HEARTBEAT_MS, type Runner } from "../core/runner.ts";
import { type Gateway, startGateway } from "../gateway/gateway.ts";
import type { PluginAgent } from "../gateway/plugin.ts";
import type { Agent } from "../ports/agent.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import { sqliteStore } from "../stores/sqlite/store.ts";
import { localRunner } from "../system/local-runner.ts";
import { systemClock } from "../system/system-clock.ts";
import type { ToolHost } from "../turns/build-tools.ts";
import { buildToolHost } from "./build-tool-host.ts";
import { chooseAgent } from "./choose-agent.ts";
import type { LogLevel } from "./config/config.ts";
import type { OpenConfig } from "./config/open-config.ts";
import { connectHomeProcesses } from "./connect-home-processes.ts";
import { startDailyCopies } from "./daily-copies.ts";
import { exitOnLostStore } from "./exit-on-lost-store.ts";
import { acquireGatewayLease, createTakenOverError, type HeldGatewayLease } from "./gateway-lease.ts";
import type { Home } from "./home.ts";
import { type LoadedHooks, loadHooks } from "./hooks/load-hooks.ts";
import { loadPlatforms } from "./load-platforms.ts";
import type { OpenLog } from "./log/open-log.ts";
import { collectSecrets } from "./log/secrets.ts";
import { loadConfiguredPlugins } from "./plugins/configured-plugins.ts";
import { createPluginPlatforms } from "./plugins/plugin-platforms.ts";
import { formatManualMove, makePrivateFolder, moveFormerWorkspaces, resolveWorkspaces } from "./workspace.ts";

export interface ComposeOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly config: OpenConfig;
  readonly log: OpenLog;
  /** Who answers: `model`, `echo`, `script:FILE`, `./FILE.ts` or a plugin's agent. */
  readonly agent?: string;
  /** Whatever the configuration says. */
  readonly level?: LogLevel;
}

export interface ComposedGateway {
  readonly store: Store;
  readonly platforms: readonly Pick<Platform, "name" | "account">[];
  readonly agent: string;
  /** What the person should know about who answers. */
  readonly hint?: string;
  /** Resolves when everything has come to its end. */
  stop(): Promise<void>;
  /** The same; rejects when another gateway has taken over. */
  readonly ended: Promise<void>;
}

/** A whole gateway for one home: store, platforms, agent, hooks and daily copies. */
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
  const store = await sqliteStore({ file: home.database, mode: "workers", onLost });
  const runner = localRunner();
  const equipment = buildToolHost({
    home,
    environment,
    processes: connectHomeProcesses(home, store, systemClock),
    config: () => config.current(),
  });
  try {
    const held = await acquireGatewayLease({
      store,
      clock: systemClock,
      runner,
      agent: () => answering.current().name,
    });
    prepareWorkspaces(options);
    const gateway = await startGateway({
      toolHost: equipment,
      store,
      runner,
      clock: systemClock,
      platforms,
      settings: () => config.current().gateway,
      agent: answering.current,
      log,
      hooks: [...hooks.hooks, ...(plugins?.plugins ?? []).flatMap((plugin) => plugin.hooks ?? [])],
      tools: plugins?.tools ?? [],
      commands: (plugins?.plugins ?? []).flatMap((plugin) => plugin.commands ?? []),
    });
    const { hint } = answering;
    return {
      store,
      platforms,
      agent: answering.current().name,
      ...(hint !== undefined && { hint }),
      ...superviseGateway(options, {
        gateway,
        lease: held,
        store,
        runner,
        hooks,
        currentAgent: answering,
        toolHost: equipment,
      }),
    };
  } catch (error) {
    await store.runners.retire({ runner: runner.id });
    await store.close();
    throw error;
  }
}

/** A gateway that starts can give agents a folder to work in. What earlier versions kept in the home is moved there. */
function prepareWorkspaces({ home, config, log }: ComposeOptions): void {
  const { tools } = config.current().gateway;
  const workspaces = resolveWorkspaces(home, tools);
  const moved = moveFormerWorkspaces(home, workspaces);
  if (moved.state === "moved")
    log.warn({}, `agents work outside of the home now: ${moved.from} was moved to ${workspaces}`);
  if (moved.state === "left")
    log.warn(
      {},
      `agents work in ${workspaces} now, and ${moved.from} was left where it is: ${moved.why}. ${formatManualMove(moved.from, workspaces)}`,
    );
  if (tools.folder === undefined) makePrivateFolder(workspaces);
}

interface GatewayParts {
  readonly gateway: Gateway;
  readonly lease: HeldGatewayLease;
  readonly store: Store;
  readonly runner: Runner;
  readonly hooks: LoadedHooks;
  readonly currentAgent: CurrentAgent;
  readonly toolHost: ToolHost;
}

/** Keeps the gateway's place and follows the configuration, until the end. */
function superviseGateway(
  { home, log, ...options }: ComposeOptions,
  parts: GatewayParts,
): Pick<ComposedGateway, "stop" | "ended"> {
  const { gateway, lease, store, runner, hooks, currentAgent, toolHost } = parts;
  const copies = startDailyCopies({ home, store, runner: runner.id, notice: (text) => log.warn({}, text) });
  const lost = Promise.withResolvers<never>();
  const heart = setInterval(() => {
    lease.renew().then(
      (isOurs) => isOurs || lost.reject(createTakenOverError()),
      (error: unknown) => log.error({ error }, "the gateway could not say that it lives"),
    );
  }, HEARTBEAT_MS);
  let before = options.config.current();
  const unlisten = options.config.onChange((next) => {
    log.addSecrets(collectSecrets(options.environment, next));
    log.level(options.level ?? next.log.level);
    log.info({}, "the configuration has changed");
    if (!isDeepStrictEqual(next.platforms, before.platforms))
      log.warn({}, "how platforms are connected has changed, which counts after a restart of the gateway");
    if (!isDeepStrictEqual(next.plugins, before.plugins))
      log.warn({}, "the plugins have changed, which counts after a restart of the gateway");
    if (!isDeepStrictEqual(next.model, before.model)) currentAgent.reload();
    before = next;
  });

  async function untilEnd(): Promise<void> {
    try {
      await Promise.race([gateway.ended, lost.promise]);
    } finally {
      unlisten();
      await copies.stop();
      await gateway.stop();
      clearInterval(heart);
      await hooks.close();
      await toolHost.processes.close();
      await store.close();
    }
  }
  const ended = untilEnd();
  ended.catch(() => {}); // whoever waits for the end meets it
  return {
    ended,
    async stop() {
      await copies.stop();
      await gateway.stop();
      await ended;
    },
  };
}

interface CurrentAgent {
  current(): Agent;
  readonly hint?: string;
  /** Chooses anew, as configured now. What cannot be used changes nothing. */
  reload(): void;
}

/** Who answers. A chat may choose another model of the same provider, which it tells with each turn. */
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
          log.info({ agent: agent.name }, "answers from now on");
        },
        (error: unknown) => log.error({ error }, "the model stays as it was"),
      );
    },
  };
}

function createNoPlatformError(): PostriderError {
  return new PostriderError(
    "invalid_config",
    "No messenger is set up yet, so there is nothing to do. postrider connect telegram sets one up in a minute.",
  );
}
