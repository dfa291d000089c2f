import type { GatewaySettings } from "../core/gateway-settings.ts";
import { getMemoryOwner } from "../core/memory.ts";
import { SYSTEM } from "../core/owner.ts";
import { formatToday } from "../core/today.ts";
import { buildToolEnvironmentPrompt } from "../core/tool-environment-prompt.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import { maskTools } from "../tools/create-tools.ts";
import { loadMemoryPrompt } from "../tools/load-memory-prompt.ts";
import { readProjectInstructions } from "../tools/project-instructions.ts";
import {
  buildTools,
  type ResolvedTurn,
  resolveChatType,
  type ToolHost,
  type TurnRequester,
  type TurnTools,
} from "./build-tools.ts";
import { buildSystemPrompt, type PromptSettings } from "./system-prompt.ts";
import type { PreparedTurn } from "./turn-hooks.ts";

export interface PrepareContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: PromptSettings & Pick<GatewaySettings, "zone" | "tools" | "memory" | "profile">;
  /** The platforms that are connected. */
  readonly platforms: readonly string[];
  /** Absent: the agent only talks. */
  readonly toolHost?: ToolHost;
  /** Tools of plugins and of the application, besides those of the host. */
  readonly customTools?: readonly Tool[];
}

/**
 * Builds the prompt and the tools of a turn, for every kind of chat. Without `requester` there are no tools: the turn runs
 * in another process than the one of its chat.
 */
export async function prepareTurn(
  context: PrepareContext,
  turn: Turn,
  requester?: TurnRequester,
): Promise<PreparedTurn> {
  const { store, clock, settings, platforms } = context;
  const session = await store.sessions.getSession({ asker: SYSTEM, session: turn.session });
  const chatType = requester?.chatType ?? (await resolveChatType(store, turn.target));
  // A direct chat has no audience, though a background task in it names the chat.
  const owner = session && (chatType === "dm" ? session.owner : getMemoryOwner(session));
  const resolved = session !== undefined && owner !== undefined ? { turn, session, owner } : undefined;
  const built = resolved && buildTurnTools(context, resolved, requester);
  const tools = [...(built?.tools ?? []), ...selectCustomTools(context, requester)];
  const [system, workspace, memory] = await Promise.all([
    buildSystemPrompt(turn.target, turn.settings, { store, settings, platforms }),
    describeWorkspace(context, built, requester),
    settings.memory.enabled && owner !== undefined
      ? loadMemoryPrompt({ store, owner, profile: settings.profile })
      : undefined,
  ]);
  return {
    ...(built && { tools: built.tools, cwd: built.cwd }),
    ...(tools.length > 0 && { tools }),
    prompt: joinSections(system, ...workspace),
    volatilePrompt: joinSections(formatToday(clock.now(), settings.zone), memory),
  };
}

function buildTurnTools(
  { store, clock, settings, toolHost }: PrepareContext,
  resolved: ResolvedTurn,
  requester: TurnRequester | undefined,
): TurnTools | undefined {
  if (toolHost === undefined || requester === undefined) return undefined;
  return buildTools({ store, clock, settings, toolHost }, resolved, requester);
}

/** The audience of each tool decides. Secrets of the host are masked in their output, too. */
function selectCustomTools(
  { toolHost, customTools = [] }: PrepareContext,
  requester: TurnRequester | undefined,
): readonly Tool[] {
  if (requester === undefined || customTools.length === 0) return [];
  const isOwnersChat = requester.role === "owner" && requester.chatType === "dm";
  const offered = customTools.filter(({ audience }) => audience === "everyone" || isOwnersChat);
  return maskTools(offered, toolHost?.secrets() ?? []);
}

/** Describes the folder of the tools, with the instructions of its project. The default workspace is no project. */
async function describeWorkspace(
  { toolHost }: PrepareContext,
  built: TurnTools | undefined,
  requester: TurnRequester | undefined,
): Promise<readonly (string | undefined)[]> {
  if (toolHost === undefined || built === undefined) return [];
  const { names, cwd, isProject } = built;
  const state = requester?.folder;
  const where = buildToolEnvironmentPrompt({ tools: names, machine: toolHost.machine, folder: cwd, state });
  const hasProject = isProject && where !== undefined && state !== "missing";
  return [where, hasProject ? await readProjectInstructions(cwd) : undefined];
}

function joinSections(...sections: readonly (string | undefined)[]): string {
  return sections.filter((section) => section !== undefined && section !== "").join("\n\n");
}
