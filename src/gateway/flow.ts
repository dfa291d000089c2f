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

/** A platform that this gateway is connected to, and what is on its way there. */
export interface PlatformConnection {
  readonly platform: Platform;
  readonly outbox: Outbox;
}

/** What the steps of a running gateway have in common. */
export interface Flow {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly clock: Clock;
  /** The id of this process among the runners. */
  readonly runner: string;
  readonly log: Log;
  readonly hooks: Hooks;
  readonly turns: ActiveTurns;
  /** Aborts when the gateway ends. */
  readonly signal: AbortSignal;
  settings(): GatewaySettings;
  agent(chosen: ConversationSettings): Agent;
  getConnection(platform: string): PlatformConnection | undefined;
  readonly platforms: readonly string[];
  /** What is to be remembered of sessions that were left is looked for soon. */
  flush?(): void;
  /** What agents work with; without it they only talk. */
  readonly toolHost?: ToolHost;
  /** Chat commands of plugins and of the application that embeds the gateway. */
  readonly customCommands?: readonly ChatCommand[];
  /** Their tools. */
  readonly customTools?: readonly Tool[];
}

/** Something that arrived has been stored. What comes next in the chat waits for what is still to be done with it. */
export interface IntakeResult {
  readonly after?: Promise<void>;
}

/** Work that nobody waits for; its failure is told, not thrown. */
export function runInBackground(log: Log, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.error({ error }, `${what} failed`));
}
