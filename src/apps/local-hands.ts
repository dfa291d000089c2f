import { OWNER } from "../core/owner.ts";
import { DEFAULT_TOOLS } from "../core/tool-settings.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Processes } from "../processes/processes.ts";
import { systemZone } from "../system/system-clock.ts";
import type { Asking } from "../turns/equip.ts";
import type { Prepared } from "../turns/run-turn.ts";
import type { EquipmentOptions } from "./equipment.ts";

export interface LocalHandsOptions extends Omit<EquipmentOptions, "processes"> {
  readonly store: Store;
  readonly clock: Clock;
}

/** What the agent works with where the owner of the home sits: a terminal, an editor. */
export interface LocalHands {
  /** Loads what the first turn will need, while nobody waits. */
  load(): Promise<unknown>;
  /** What the model is told in a turn, and its tools. Without a place there are no tools. */
  prepare(turn: Turn, place?: Pick<Asking, "cwd" | "folder" | "terminal">): Promise<Prepared>;
  readonly processes: Processes;
}

/** Loaded when the first turn needs them: nobody waits for that before they have said something. */
export function localHands(options: LocalHandsOptions): LocalHands {
  const { home, store, clock } = options;
  const processes = whenNeeded(async () => {
    const { processesOf } = await import("./processes-of-home.ts");
    return processesOf(home, store, clock);
  });
  const load = () => Promise.all([import("../turns/prepare-turn.ts"), import("./equipment.ts")]);
  return {
    processes,
    load,
    async prepare(turn, place) {
      const [{ prepareTurn }, { equipmentOf }] = await load();
      const settings = options.config()?.gateway ?? { ...NOTHING_CONFIGURED, zone: systemZone() };
      const equipment = equipmentOf({ ...options, processes });
      const asking =
        place && ({ asker: { person: OWNER }, role: "owner", chatType: "dm", ...place } as const);
      return prepareTurn({ store, clock, settings, platforms: [], equipment }, turn, asking);
    },
  };
}

/** The same, connected when something is asked of them: most turns run nothing. */
function whenNeeded(connect: () => Promise<Processes>): Processes {
  let made: Promise<Processes> | undefined;
  const connected = (): Promise<Processes> => {
    made ??= connect();
    return made;
  };
  return {
    start: async (input) => (await connected()).start(input),
    write: async (id, text) => (await connected()).write(id, text),
    endInput: async (id) => (await connected()).endInput(id),
    resize: async (id, size) => (await connected()).resize(id, size),
    ended: async (id, signal) => (await connected()).ended(id, signal),
    kill: async (id) => (await connected()).kill(id),
    async close() {
      await (await made)?.close();
    },
  };
}

const NOTHING_CONFIGURED = {
  tools: DEFAULT_TOOLS,
  memory: { enabled: true, flush: true },
  profile: "main",
  personalities: {},
  privacy: {},
  scope: {},
  homes: [],
} as const;
