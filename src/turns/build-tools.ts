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

/** The parts of the tools that are the same in all turns. */
export interface ToolHost {
  readonly processes: Processes;
  /** The folder for commands, unless the chat, the session or the configuration names one: one per memory. Creates it. */
  workspace(owner: MemoryOwner): string;
  /** Postrider's own folder: no file tool reads it. */
  readonly home: string;
  /** The environment of a command: the usual variables and these. */
  environment(names: readonly string[]): Readonly<Record<string, string>>;
  /** Values that are masked in every output. */
  secrets(): readonly string[];
  /** The machine that runs commands. */
  readonly machine: MachineInfo;
}

export interface ToolDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Pick<GatewaySettings, "tools" | "memory" | "profile">;
  readonly toolHost: ToolHost;
}

/** Who asks for a turn, and the environment of their chat. */
export interface TurnRequester {
  readonly asker: Asker;
  readonly role: AccessRole;
  readonly chatType: string;
  /** The folder for commands, if the chat has one. */
  readonly cwd?: string;
  /** The state of that folder, if the person opened it. */
  readonly folder?: FolderState;
  readonly terminal?: Terminal;
}

/** A turn with its session and the owner of its memory. */
export interface ResolvedTurn {
  readonly turn: Turn;
  readonly session: Session;
  readonly owner: MemoryOwner;
}

export interface TurnTools {
  readonly tools: readonly Tool[];
  readonly names: readonly ToolName[];
  readonly cwd: string;
  /** Whether a person chose the folder for this session: only then are its instructions those of a project. */
  readonly isProject: boolean;
}

/** Builds the tools of one turn for the person who asks. */
export function buildTools(
  { store, clock, settings, toolHost }: ToolDependencies,
  { turn, session, owner }: ResolvedTurn,
  requester: TurnRequester,
): TurnTools {
  const { target, conversation } = turn;
  const { tools, memory, profile } = settings;
  const chosen = requester.cwd ?? session.cwd;
  const cwd = chosen ?? tools.folder ?? toolHost.workspace(owner);
  const names = selectTools(tools, { ...requester, platform: target.platform }).filter(
    (name) => name !== "memory" || memory.enabled,
  );
  const built = createTools(names, {
    store,
    clock,
    processes: toolHost.processes,
    session: session.id,
    conversation,
    target,
    asker: requester.asker,
    role: requester.role,
    owner,
    profile,
    cwd,
    allowedFolders: [cwd, ...tools.folders],
    deniedFolders: [toolHost.home],
    environment: toolHost.environment(tools.environment),
    secrets: toolHost.secrets(),
    timeoutMs: tools.timeoutSeconds * 1000,
    watchMode: tools.notifications,
    ...(requester.terminal !== undefined && { terminal: requester.terminal }),
  });
  return { tools: built, names, cwd, isProject: chosen !== undefined };
}

/** Finds who asked for a turn in a messenger: the sender of its last message. */
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

/** The type of the chat that asked for a turn: a background task has its own type, not that of its chat. */
export async function resolveChatType(store: Store, target: Source): Promise<string> {
  if (target.chatType !== "background") return target.chatType;
  const direct = await store.conversations.findConversations({
    asker: SYSTEM,
    source: { ...target, chatType: "dm" },
  });
  return direct.length > 0 ? "dm" : target.chatType;
}
