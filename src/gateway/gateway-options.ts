import type { CustomCommand } from "../commands/custom-command.ts";
import type { ConversationSettings } from "../core/conversation.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import { DEFAULT_RESET_POLICY } from "../core/reset-policy.ts";
import type { Runner } from "../core/runner.ts";
import { DEFAULT_TOOLS } from "../core/tool-settings.ts";
import type { Agent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import { localRunner } from "../system/local-runner.ts";
import type { RunnerLife } from "../system/runner-life.ts";
import { systemClock, systemZone } from "../system/system-clock.ts";
import type { ToolHost } from "../turns/build-tools.ts";
import type { Hook } from "./hooks.ts";

export interface GatewayOptions {
  readonly store: Store;
  readonly platforms: readonly Platform[];
  /** One agent for all conversations, or a function that chooses by the settings of a conversation. */
  readonly agent: Agent | ((chosen: ConversationSettings) => Agent);
  /** Replaces some defaults, or returns all settings anew for every message. By default strangers have to pair first. */
  readonly settings?: Partial<GatewaySettings> | (() => GatewaySettings);
  readonly hooks?: readonly Hook[];
  /** Own tools, offered by their `audience`. */
  readonly tools?: readonly Tool[];
  /** Own chat commands, besides the built-in ones. */
  readonly commands?: readonly CustomCommand[];
  /** The tools of the `postrider` command: files, terminal, memory. Without it, the agent has only `tools`. */
  readonly toolHost?: ToolHost;
  /** By default the gateway logs nothing. */
  readonly log?: Log;
  /**
   * For several gateways on one store. Connections that another gateway holds are not an error: this one takes over each
   * that becomes free. Default: `startGateway` rejects with `in_use`.
   */
  readonly standby?: boolean;
  /**
   * Runs the turns that no gateway runs, and connects to no platform: the gateways send the answers. Needs the same
   * platforms as the gateways, and a store that they share.
   */
  readonly worker?: boolean;
  /** This process by default. */
  readonly runner?: Runner;
  /** The life of `runner`, when the caller has registered it and holds other leases. The gateway retires it. */
  readonly life?: RunnerLife;
  readonly clock?: Clock;
}

/** The options with every default filled in. */
export interface ResolvedGatewayOptions
  extends Omit<GatewayOptions, "agent" | "settings" | "log" | "runner" | "clock"> {
  readonly agent: (chosen: ConversationSettings) => Agent;
  readonly settings: () => GatewaySettings;
  readonly log: Log;
  readonly runner: Runner;
  readonly clock: Clock;
}

export function resolveGatewayOptions(options: GatewayOptions): ResolvedGatewayOptions {
  const { agent, settings = {}, log = SILENT, clock = systemClock } = options;
  const fixed = typeof settings === "function" ? undefined : { ...getDefaultSettings(), ...settings };
  return {
    ...options,
    agent: typeof agent === "function" ? agent : () => agent,
    settings: typeof settings === "function" ? settings : () => fixed ?? getDefaultSettings(),
    log,
    clock,
    runner: options.runner ?? localRunner(),
  };
}

/** The same as those of a home without a configuration file; a test compares them. */
export function getDefaultSettings(): GatewaySettings {
  return {
    zone: systemZone(),
    profile: "main",
    reset: { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} },
    scope: { groupsPerUser: true, threadsPerUser: true },
    privacy: { redactPii: false },
    access: { everywhere: { strangers: "pair" }, platforms: {} },
    busy: "interrupt",
    maxPending: 100,
    turnMinutes: 30,
    streaming: true,
    personalities: {},
    compressAt: 0.85,
    tools: DEFAULT_TOOLS,
    memory: { enabled: true, flush: true },
    homes: [],
  };
}

const ignore = (): void => {};
const SILENT: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
