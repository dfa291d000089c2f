import { accountOf, type Role, roleOf } from "../core/access.ts";
import { type MemoryOwner, memoryOwnerOf } from "../core/memory.ts";
import { type Asker, chatOf, NOBODY } from "../core/owner.ts";
import type { Source } from "../core/source.ts";
import { type ToolName, toolsGiven } from "../core/tool-settings.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Terminal } from "../ports/terminal.ts";
import type { Processes } from "../processes/processes.ts";
import { rememberedPrompt } from "../tools/remembered.ts";
import { toolsFor } from "../tools/tools-for.ts";
import { program } from "./flow.ts";
import type { Prepared } from "./run-turn.ts";
import type { GatewaySettings } from "./settings.ts";

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
  readonly terminal?: Terminal;
}

/** The hands of one turn: its tools, made for whoever asks, and what the model is told of what it remembers. */
export async function equip(
  { store, clock, settings, equipment }: Equipping,
  turn: Turn,
  asking: Asking,
): Promise<Prepared> {
  const { target, conversation } = turn;
  const { tools, memory, profile } = settings;
  const [session] = await store.find({ asker: program, text: turn.session });
  if (session === undefined) return {};
  // A direct chat has no audience, though a task of it in the background has the chat's name.
  const owner = asking.chatType === "dm" ? session.owner : memoryOwnerOf(session);
  const cwd = asking.cwd ?? session.cwd ?? tools.folder ?? equipment.workspace(owner);
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
  const remembered = memory.enabled ? await rememberedPrompt({ store, owner, profile }) : undefined;
  const prompt = [whereWords(names, cwd), remembered].filter(Boolean).join("\n\n");
  return { tools: given, cwd, ...(prompt !== "" && { prompt }) };
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

/** What is done in the background is asked for in a chat, which is direct or not. */
async function chatTypeOf(store: Store, target: Source): Promise<string> {
  if (target.chatType !== "background") return target.chatType;
  const direct = await store.conversations({ asker: program, source: { ...target, chatType: "dm" } });
  return direct.length > 0 ? "dm" : target.chatType;
}

function whereWords(names: readonly ToolName[], cwd: string): string | undefined {
  const works = names.some((name) => name === "terminal" || name === "read_file" || name === "write_file");
  return works ? `You work in the folder ${cwd}.` : undefined;
}
