import { accountOf, type Role, roleOf } from "../core/access.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import type { MemoryOwner } from "../core/memory.ts";
import { type Asker, chatOf, NOBODY, SYSTEM } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import { type ToolName, toolsGiven } from "../core/tool-settings.ts";
import type { Turn } from "../core/turn.ts";
import type { FolderState, Machine } from "../core/workplace-prompt.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { Tool } from "../ports/tool.ts";
import type { Processes } from "../processes/processes.ts";
import { toolsFor } from "../tools/tools-for.ts";

/** What the tools of all turns have in common. */
export interface Equipment {
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
  readonly machine: Machine;
}

export interface Equipping {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Pick<GatewaySettings, "tools" | "memory" | "profile">;
  readonly equipment: Equipment;
}

/** Who asks for the turn, and what the place knows of how it is done there. */
export interface Asking {
  readonly asker: Asker;
  readonly role: Role;
  readonly chatType: string;
  /** Where commands run, where the place says so. */
  readonly cwd?: string;
  /** What is known of that folder, where the person opened it. */
  readonly folder?: FolderState;
  readonly terminal?: Terminal;
}

/** The turn with its session, and whose memory counts in it. */
export interface EquippedTurn {
  readonly turn: Turn;
  readonly session: Session;
  readonly owner: MemoryOwner;
}

export interface Equipped {
  readonly tools: readonly Tool[];
  readonly names: readonly ToolName[];
  readonly cwd: string;
  /** Whether a person chose the folder for this session: only then does a file in it speak for a project. */
  readonly isProject: boolean;
}

/** The tools of one turn, made for whoever asks. */
export function equip(
  { store, clock, settings, equipment }: Equipping,
  { turn, session, owner }: EquippedTurn,
  asking: Asking,
): Equipped {
  const { target, conversation } = turn;
  const { tools, memory, profile } = settings;
  const chosen = asking.cwd ?? session.cwd;
  const cwd = chosen ?? tools.folder ?? equipment.workspace(owner);
  const names = toolsGiven(tools, { ...asking, platform: target.platform }).filter(
    (name) => name !== "memory" || memory.enabled,
  );
  const given = toolsFor(names, {
    store,
    clock,
    processes: equipment.processes,
    session: session.id,
    conversation,
    target,
    asker: asking.asker,
    role: asking.role,
    owner,
    profile,
    cwd,
    folders: [cwd, ...tools.folders],
    forbidden: [equipment.home],
    environment: equipment.environment(tools.environment),
    secrets: equipment.secrets(),
    timeoutMs: tools.timeoutSeconds * 1000,
    watchMode: tools.notifications,
    ...(asking.terminal !== undefined && { terminal: asking.terminal }),
  });
  return { tools: given, names, cwd, isProject: chosen !== undefined };
}

/** Who has asked for a turn in a messenger: whoever spoke last in it. */
export async function askedInMessenger(
  store: Store,
  access: GatewaySettings["access"],
  target: Source,
): Promise<Asking> {
  const known = await store.account(accountOf(target));
  const chatType = await chatTypeOf(store, target);
  const chat = chatOf({ ...target, chatType });
  return {
    asker: { person: known?.person ?? NOBODY, ...(chat !== undefined && { chat }) },
    role: roleOf(access, target, known) ?? "member",
    chatType,
  };
}

/** The type of the chat in which a turn was asked for: a background task has a type of its own. */
export async function chatTypeOf(store: Store, target: Source): Promise<string> {
  if (target.chatType !== "background") return target.chatType;
  const direct = await store.conversations({ asker: SYSTEM, source: { ...target, chatType: "dm" } });
  return direct.length > 0 ? "dm" : target.chatType;
}
