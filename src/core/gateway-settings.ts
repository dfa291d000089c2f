import type { AccessRules } from "./access.ts";
import type { BusyMode } from "./conversation.ts";
import type { ScopeSettings } from "./identity.ts";
import type { Privacy } from "./redaction.ts";
import type { ResetSettings } from "./reset-policy.ts";
import type { HomeChannel } from "./session-context.ts";
import type { ToolSettings } from "./tool-settings.ts";

/** What a gateway is told by its configuration. Asked for anew for every message, because it may change while it runs. */
export interface GatewaySettings {
  readonly zone: string;
  readonly profile: string;
  readonly reset: ResetSettings;
  readonly scope: ScopeSettings;
  readonly privacy: Privacy;
  readonly access: AccessRules;
  /** What becomes of a message that arrives while a turn runs, where the chat has chosen nothing. */
  readonly busy: BusyMode;
  /** How many messages may wait in one conversation. */
  readonly maxPending: number;
  /** An answer that takes longer is given up. */
  readonly turnMinutes: number;
  /** Whether answers are shown while they are written. */
  readonly streaming: boolean;
  /** Said to the model before everything else. */
  readonly instructions?: string;
  /** Further instructions by name, for `/personality`. */
  readonly personalities: Readonly<Record<string, string>>;
  /** The share of the model's window at which a conversation is summed up; absent: never. */
  readonly compressAt?: number;
  readonly tools: ToolSettings;
  readonly memory: MemorySettings;
  /** Home channels that the configuration names. `homeChannelsOf` tells which count. */
  readonly homes: readonly HomeChannel[];
  /** Platforms that the configuration names. */
  readonly platforms?: readonly ConfiguredPlatform[];
}

export interface ConfiguredPlatform {
  readonly platform: string;
  /** `unsupported`: this version has no driver for it. */
  readonly state: "enabled" | "disabled" | "unsupported";
}

export interface MemorySettings {
  /** Whether anything is remembered, and told to the model. */
  readonly enabled: boolean;
  /** Whether a session that is left is looked through for what is worth remembering. */
  readonly flush: boolean;
}

/** How many waiting messages one turn takes: one by one where they are queued; else all that waits becomes one turn. */
export function getTakeMode(
  { busy }: Pick<GatewaySettings, "busy">,
  chosen: { readonly busy?: BusyMode } = {},
): "one" | "all" {
  return (chosen.busy ?? busy) === "queue" ? "one" : "all";
}
