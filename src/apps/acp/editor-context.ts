import type { AgentContext, ClientCapabilities } from "@agentclientprotocol/sdk/unstable";
import type { ChatCommand } from "../../commands/command.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Store } from "../../ports/store.ts";
import type { RoutingSettings } from "../../sessions/routing.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { PromptSettings } from "../../turns/system-prompt.ts";
import type { LocalTools } from "../local-tools.ts";
import type { PendingPrompts } from "./pending-prompts.ts";
import type { Thread } from "./thread.ts";

/** What the parts of a running `postrider acp` have in common: the home on one side, the editor on the other. */
export interface EditorContext {
  readonly store: Store;
  /** The library's face, loaded when it is first needed: the first answer must not wait for it. */
  sessions(): Promise<Sessions>;
  readonly clock: Clock;
  /** The id of this process among the runners. */
  readonly runner: string;
  readonly log: Log;
  readonly environment: NodeJS.ProcessEnv;
  /** What the agent works with. */
  readonly localTools: LocalTools;
  settings(): EditorSettings;
  /** Who answers, if anybody is connected. */
  /** Chat commands of plugins. */
  customCommands(): readonly ChatCommand[];
  findAgent(): Agent | undefined;
  /** The same; where nobody is, an error that asks the editor to see to it. */
  requireAgent(): Agent;
  /** Whether sessions that began elsewhere are shown, too. */
  readonly all: boolean;
  readonly client: AgentContext;
  /** What the editor has said it can. */
  capabilities(): ClientCapabilities;
  /** The threads that are open here, by session. */
  readonly threads: Map<string, Promise<Thread>>;
  /** The sessions that were created for this editor and in which nothing was said yet: they may be removed meanwhile. */
  readonly unusedSessions: Set<string>;
  /** What has been asked and has no answer yet. */
  readonly pendingPrompts: PendingPrompts;
  /** Aborts when the editor is gone. */
  readonly signal: AbortSignal;
}

export interface EditorSettings extends Pick<RoutingSettings, "profile" | "scope"> {
  readonly promptSettings: PromptSettings & Pick<RoutingSettings, "zone">;
  /** The share of the model's window at which a conversation is summed up. */
  readonly compressAt?: number;
}

/** Whoever sits at the editor is the owner of the home. */
export const OWNER_ASKER: { readonly person: PersonId } = { person: OWNER };
