import type { GatewaySettings } from "../core/gateway-settings.ts";
import { memoryOwnerOf } from "../core/memory.ts";
import { SYSTEM } from "../core/owner.ts";
import { formatToday } from "../core/today.ts";
import type { Turn } from "../core/turn.ts";
import { workplacePrompt } from "../core/workplace-prompt.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { projectInstructions } from "../tools/project-instructions.ts";
import { rememberedPrompt } from "../tools/remembered.ts";
import { type Asking, chatTypeOf, type Equipment, type Equipped, type EquippedTurn, equip } from "./equip.ts";
import { type PromptSettings, promptFor } from "./prompt.ts";
import type { Prepared } from "./run-turn.ts";

export interface TurnContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: PromptSettings & Pick<GatewaySettings, "zone" | "tools" | "memory" | "profile">;
  /** The platforms that are connected. */
  readonly platforms: readonly string[];
  /** Absent: the agent only talks. */
  readonly equipment?: Equipment;
}

/**
 * Composes what the model is told in a turn, and its tools. Every place uses it, so that none leaves out a part. Without
 * `asking` there are no tools: the turn runs elsewhere than where it was asked for.
 */
export async function prepareTurn(context: TurnContext, turn: Turn, asking?: Asking): Promise<Prepared> {
  const { store, clock, settings, platforms } = context;
  const [session] = await store.find({ asker: SYSTEM, text: turn.session });
  const chatType = asking?.chatType ?? (await chatTypeOf(store, turn.target));
  // A direct chat has no audience, though a background task in it has the chat's name.
  const owner = session && (chatType === "dm" ? session.owner : memoryOwnerOf(session));
  const known = session !== undefined && owner !== undefined ? { turn, session, owner } : undefined;
  const equipped = known && equipFor(context, known, asking);
  const [told, work, remembered] = await Promise.all([
    promptFor(turn.target, turn.settings, { store, settings, platforms }),
    describeWork(context, equipped, asking),
    settings.memory.enabled && owner !== undefined
      ? rememberedPrompt({ store, owner, profile: settings.profile })
      : undefined,
  ]);
  return {
    ...(equipped && { tools: equipped.tools, cwd: equipped.cwd }),
    prompt: joinSections(told, ...work),
    changing: joinSections(formatToday(clock.now(), settings.zone), remembered),
  };
}

function equipFor(
  { store, clock, settings, equipment }: TurnContext,
  known: EquippedTurn,
  asking: Asking | undefined,
): Equipped | undefined {
  if (equipment === undefined || asking === undefined) return undefined;
  return equip({ store, clock, settings, equipment }, known, asking);
}

/** Where tools work, and what the project there says. A workspace that agents write into is no project. */
async function describeWork(
  { equipment }: TurnContext,
  equipped: Equipped | undefined,
  asking: Asking | undefined,
): Promise<readonly (string | undefined)[]> {
  if (equipment === undefined || equipped === undefined) return [];
  const { names, cwd, isProject } = equipped;
  const state = asking?.folder;
  const where = workplacePrompt({ tools: names, machine: equipment.machine, folder: cwd, state });
  const hasProject = isProject && where !== undefined && state !== "missing";
  return [where, hasProject ? await projectInstructions(cwd) : undefined];
}

function joinSections(...sections: readonly (string | undefined)[]): string {
  return sections.filter((section) => section !== undefined && section !== "").join("\n\n");
}
