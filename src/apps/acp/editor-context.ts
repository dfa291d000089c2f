import type { AgentContext, ClientCapabilities } from "@agentclientprotocol/sdk/unstable";
import type { ChatCommand } from "../../commands/command.ts";
import { OWNER, type PersonId } from "../../core/owner.ts";
import type { Session } from "../../core/session.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Store } from "../../ports/store.ts";
import type { RoutingSettings } from "../../sessions/routing.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { StoredEditorSessions } from "../../sessions/stored-editor-sessions.ts";
import type { PromptSettings } from "../../turns/system-prompt.ts";
import type { LocalTools } from "../local-tools.ts";
import type { PendingPrompts } from "./pending-prompts.ts";
import type { Thread } from "./thread.ts";

/** The state of a running `postrider acp`: the home and the connection to the editor. */
export interface EditorContext {
  readonly store: Store;
  /** Loaded on first use, so that the first answer does not wait for it. */
  sessions(): Promise<Sessions>;
  /** The sessions that this editor may open. Loaded on first use. */
  storedSessions(): Promise<StoredEditorSessions>;
  readonly clock: Clock;
  /** The id of this process among the runners. */
  readonly runner: string;
  readonly log: Log;
  readonly environment: NodeJS.ProcessEnv;
  readonly localTools: LocalTools;
  settings(): EditorSettings;
  /** Chat commands of plugins. */
  customCommands(): readonly ChatCommand[];
  /** `undefined` while no model is connected. */
  findAgent(): Agent | undefined;
  /** Throws the error that makes the editor ask for a model, if none is connected. */
  requireAgent(): Agent;
  /** Whether the editor may also open sessions of messengers and terminals. */
  readonly all: boolean;
  readonly client: AgentContext;
  /** The capabilities that the editor sent. */
  capabilities(): ClientCapabilities;
  /** The open threads, by session. */
  readonly threads: Map<string, Promise<Thread>>;
  /** Sessions without messages that this editor created. Another process may remove them meanwhile. */
  readonly unusedSessions: Set<string>;
  readonly pendingPrompts: PendingPrompts;
  /** Aborts when the connection to the editor is closed. */
  readonly signal: AbortSignal;
}

export interface EditorSettings extends Pick<RoutingSettings, "profile" | "scope"> {
  readonly promptSettings: PromptSettings & Pick<RoutingSettings, "zone">;
  /** The share of the model's context window at which a conversation is compressed. */
  readonly compressAt?: number;
}

/** The person at the editor is the owner of the home. */
export const OWNER_ASKER: { readonly person: PersonId } = { person: OWNER };

/** The owner's session with exactly this id. */
export function findStoredSession({ store }: EditorContext, session: string): Promise<Session | undefined> {
  return store.sessions.getSession({ asker: OWNER_ASKER, session });
}
