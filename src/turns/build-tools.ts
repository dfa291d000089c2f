import { type AccessRole, getSenderAccount, resolveRole } from "../core/access.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import type { MemoryOwner } from "../core/memory.ts";
import { type Asker, getChatAudience, NOBODY, SYSTEM } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { FolderState, MachineInfo } from "../core/tool-environment-prompt.ts";
import { selectTools, type ToolName } from "../core/tool-settings.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { Tool } from "../ports/tool.ts";
import type { Processes } from "../processes/processes.ts";
import { createTools } from "../tools/create-tools.ts";

/** What the tools of all turns have in common. */
export interface ToolHost {
  readonly processes: Processes;
  /**
   * Where commands run, unless the place, the session or the configuration names a folder: each whose memory is their own
   * has a folder of their own. It is there when asked for.
   */
  workspace(owner: MemoryOwner): string;
  /** Postrider's own folder: no file tool looks into it. */
  readonly home: string;
  /** All that a program sees of the environment, with these variables besides the usual ones. */
  environment(names: readonly string[]): Readonly<Record<string, string>>;
  /** What must not be in any output. */
  secrets(): readonly string[];
  /** Where commands run. */
  readonly machine: MachineInfo;
}

export interface ToolDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Pick<GatewaySettings, "tools" | "memory" | "profile">;
  readonly toolHost: ToolHost;
}

/** Who asks for the turn, and what the place knows of how it is done there. */
export interface TurnRequester {
  readonly asker: Asker;
  readonly role: AccessRole;
  readonly chatType: string;
  /** Where commands run, where the place says so. */
  readonly cwd?: string;
  /** What is known of that folder, where the person opened it. */
  readonly folder?: FolderState;
  readonly terminal?: Terminal;
}

/** The turn with its session, and whose memory counts in it. */
export interface ResolvedTurn {
  readonly turn: Turn;
  readonly session: Session;
  readonly owner: MemoryOwner;
}

export interface TurnTools {
  readonly tools: readonly Tool[];
  readonly names: readonly ToolName[];
  readonly cwd: string;
  /** Whether a person chose the folder for this session: only then does a file in it speak for a project. */
  readonly isProject: boolean;
}

/** The tools of one turn, made for whoever asks. */
export function buildTools(
  { store, clock, settings, toolHost }: ToolDependencies,
  { turn, session, owner }: ResolvedTurn,
  asking: TurnRequester,
): TurnTools {
  const { target, conversation } = turn;
  const { tools, memory, profile } = settings;
  const chosen = asking.cwd ?? session.cwd;
  const cwd = chosen ?? tools.folder ?? toolHost.workspace(owner);
  const names = selectTools(tools, { ...asking, platform: target.platform }).filter(
    (name) => name !== "memory" || memory.enabled,
  );
  const given = createTools(names, {
    store,
    clock,
    processes: toolHost.processes,
    session: session.id,
    conversation,
    target,
    asker: asking.asker,
    role: asking.role,
    owner,
    profile,
    cwd,
    allowedFolders: [cwd, ...tools.folders],
    deniedFolders: [toolHost.home],
    environment: toolHost.environment(tools.environment),
    secrets: toolHost.secrets(),
    timeoutMs: tools.timeoutSeconds * 1000,
    watchMode: tools.notifications,
    ...(asking.terminal !== undefined && { terminal: asking.terminal }),
  });
  return { tools: given, names, cwd, isProject: chosen !== undefined };
}

/** Who has asked for a turn in a messenger: whoever spoke last in it. */
export async function findMessengerRequester(
  store: Store,
  access: GatewaySettings["access"],
  target: Source,
): Promise<TurnRequester> {
  const known = await store.access.getAccount(getSenderAccount(target));
  const chatType = await resolveChatType(store, target);
  const chat = getChatAudience({ ...target, chatType });
  return {
    asker: { person: known?.person ?? NOBODY, ...(chat !== undefined && { chat }) },
    role: resolveRole(access, target, known) ?? "member",
    chatType,
  };
}

/** The type of the chat in which a turn was asked for: a background task has a type of its own. */
export async function resolveChatType(store: Store, target: Source): Promise<string> {
  if (target.chatType !== "background") return target.chatType;
  const direct = await store.conversations.findConversations({
    asker: SYSTEM,
    source: { ...target, chatType: "dm" },
  });
  return direct.length > 0 ? "dm" : target.chatType;
}
