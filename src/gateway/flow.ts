import type { ChatCommand } from "../commands/command.ts";
import type { ConversationSettings } from "../core/conversation.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import type { Agent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { ActiveTurns } from "../turns/active-turns.ts";
import type { ToolHost } from "../turns/build-tools.ts";
import type { Outbox } from "./deliver.ts";
import type { Hooks } from "./hooks.ts";

/** A platform that this gateway is connected to, with its outbox. */
export interface PlatformConnection {
  readonly platform: Platform;
  readonly outbox: Outbox;
}

/** Shared by the steps of a running gateway. */
export interface Flow {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly clock: Clock;
  /** The id of this process among the runners. */
  readonly runner: string;
  readonly log: Log;
  readonly hooks: Hooks;
  readonly turns: ActiveTurns;
  /** Whether this process may start another turn now. */
  hasRoom(): boolean;
  /** Whether other gateways or workers may run turns of these chats. */
  readonly isShared: boolean;
  /** Aborts when the gateway ends. */
  readonly signal: AbortSignal;
  settings(): GatewaySettings;
  agent(chosen: ConversationSettings): Agent;
  getConnection(platform: string): PlatformConnection | undefined;
  readonly platforms: readonly string[];
  /** Starts looking for sessions whose memory is to be saved. */
  flush?(): void;
  /** Tools for the agents; without it they only talk. */
  readonly toolHost?: ToolHost;
  /** Chat commands of plugins and of the application that embeds the gateway. */
  readonly customCommands?: readonly ChatCommand[];
  /** Their tools. */
  readonly customTools?: readonly Tool[];
}

/** An arrival has been stored. Later arrivals in the chat wait for `after`. */
export interface IntakeResult {
  readonly after?: Promise<void>;
}

/** Runs work that nobody waits for; a failure is logged, not thrown. */
export function runInBackground(log: Log, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.error({ error }, `${what} failed`));
}
