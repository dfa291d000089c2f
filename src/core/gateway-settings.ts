import type { AccessRules } from "./access.ts";
import type { BusyMode } from "./conversation.ts";
import type { ScopeSettings } from "./identity.ts";
import type { Privacy } from "./redaction.ts";
import type { ResetSettings } from "./reset-policy.ts";
import type { HomeChannel } from "./session-context.ts";
import type { ToolSettings } from "./tool-settings.ts";

/** The configuration of a gateway. Read again for each message, because it can change at run time. */
export interface GatewaySettings {
  readonly zone: string;
  readonly profile: string;
  readonly reset: ResetSettings;
  readonly scope: ScopeSettings;
  readonly privacy: Privacy;
  readonly access: AccessRules;
  /** The busy mode of chats that did not choose one. */
  readonly busy: BusyMode;
  /** The maximum number of pending messages in a conversation. */
  readonly maxPending: number;
  /** The time limit of a turn. */
  readonly turnMinutes: number;
  /** How many turns one process runs at the same time. Absent: no limit. Others wait, or a worker runs them. */
  readonly maxTurns?: number;
  /** Whether partial answers are shown. */
  readonly streaming: boolean;
  /** The first part of the system prompt. */
  readonly instructions?: string;
  /** Further instructions by name, for `/personality`. */
  readonly personalities: Readonly<Record<string, string>>;
  /** The share of the context window at which a session is compressed. Absent: never. */
  readonly compressAt?: number;
  readonly tools: ToolSettings;
  readonly memory: MemorySettings;
  /** The configured home channels. `mergeHomeChannels` adds those set with `/sethome`. */
  readonly homes: readonly HomeChannel[];
  /** The configured platforms. */
  readonly platforms?: readonly ConfiguredPlatform[];
}

export interface ConfiguredPlatform {
  readonly platform: string;
  /** `unsupported`: this version has no driver for it. */
  readonly state: "enabled" | "disabled" | "unsupported";
}

export interface MemorySettings {
  /** Whether there is a memory at all. */
  readonly enabled: boolean;
  /** Whether the agent adds to the memory when a session ends. */
  readonly flush: boolean;
}

/** How many pending messages a turn takes: one in `queue` mode, otherwise all. */
export function getTakeMode(
  { busy }: Pick<GatewaySettings, "busy">,
  chosen: { readonly busy?: BusyMode } = {},
): "one" | "all" {
  return (chosen.busy ?? busy) === "queue" ? "one" : "all";
}
