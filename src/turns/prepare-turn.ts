import type { GatewaySettings } from "../core/gateway-settings.ts";
import { getMemoryOwner } from "../core/memory.ts";
import { SYSTEM } from "../core/owner.ts";
import { formatToday } from "../core/today.ts";
import { buildToolEnvironmentPrompt } from "../core/tool-environment-prompt.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
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
}

/**
 * Composes what the model is told in a turn, and its tools. Every place uses it, so that none leaves out a part. Without
 * `asking` there are no tools: the turn runs elsewhere than where it was asked for.
 */
export async function prepareTurn(
  context: PrepareContext,
  turn: Turn,
  asking?: TurnRequester,
): Promise<PreparedTurn> {
  const { store, clock, settings, platforms } = context;
  const session = await store.sessions.getSession({ asker: SYSTEM, session: turn.session });
  const chatType = asking?.chatType ?? (await resolveChatType(store, turn.target));
  // A direct chat has no audience, though a background task in it has the chat's name.
  const owner = session && (chatType === "dm" ? session.owner : getMemoryOwner(session));
  const known = session !== undefined && owner !== undefined ? { turn, session, owner } : undefined;
  const equipped = known && buildTurnTools(context, known, asking);
  const [told, work, remembered] = await Promise.all([
    buildSystemPrompt(turn.target, turn.settings, { store, settings, platforms }),
    describeWorkspace(context, equipped, asking),
    settings.memory.enabled && owner !== undefined
      ? loadMemoryPrompt({ store, owner, profile: settings.profile })
      : undefined,
  ]);
  return {
    ...(equipped && { tools: equipped.tools, cwd: equipped.cwd }),
    prompt: joinSections(told, ...work),
    volatilePrompt: joinSections(formatToday(clock.now(), settings.zone), remembered),
  };
}

function buildTurnTools(
  { store, clock, settings, toolHost }: PrepareContext,
  known: ResolvedTurn,
  asking: TurnRequester | undefined,
): TurnTools | undefined {
  if (toolHost === undefined || asking === undefined) return undefined;
  return buildTools({ store, clock, settings, toolHost }, known, asking);
}

/** Where tools work, and what the project there says. A workspace that agents write into is no project. */
async function describeWorkspace(
  { toolHost }: PrepareContext,
  equipped: TurnTools | undefined,
  asking: TurnRequester | undefined,
): Promise<readonly (string | undefined)[]> {
  if (toolHost === undefined || equipped === undefined) return [];
  const { names, cwd, isProject } = equipped;
  const state = asking?.folder;
  const where = buildToolEnvironmentPrompt({ tools: names, machine: toolHost.machine, folder: cwd, state });
  const hasProject = isProject && where !== undefined && state !== "missing";
  return [where, hasProject ? await readProjectInstructions(cwd) : undefined];
}

function joinSections(...sections: readonly (string | undefined)[]): string {
  return sections.filter((section) => section !== undefined && section !== "").join("\n\n");
}
