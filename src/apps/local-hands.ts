import { OWNER } from "../core/owner.ts";
import { DEFAULT_TOOLS } from "../core/tool-settings.ts";
import type { Turn } from "../core/turn.ts";
import type { Asking, Equipment } from "../gateway/equip.ts";
import type { Prepared } from "../gateway/run-turn.ts";
import type { Processes } from "../processes/processes.ts";
import type { EquipmentOptions } from "./equipment.ts";

/** What the agent works with where the owner of the home sits: a terminal, an editor. */
export interface LocalHands {
  /** Those of one turn. */
  of(turn: Turn, place: Pick<Asking, "cwd" | "terminal">): Promise<Prepared>;
  readonly processes: Processes;
  close(): Promise<void>;
}

/** Made, and even loaded, when the first turn needs them: nobody waits for that before they have said something. */
export function localHands(options: EquipmentOptions): LocalHands {
  let made: Promise<Equipment> | undefined;
  function equipment(): Promise<Equipment> {
    made ??= import("./equipment.ts").then(({ equipmentOf }) => equipmentOf(options));
    return made;
  }
  return {
    async of(turn, place) {
      const { equip } = await import("../gateway/equip.ts");
      const { store, clock } = options;
      const { tools, memory, profile } = options.config()?.gateway ?? NOTHING_CONFIGURED;
      const settings = { tools, memory, profile };
      const asking = { asker: { person: OWNER }, role: "owner", chatType: "dm", ...place } as const;
      return equip({ store, clock, settings, equipment: await equipment() }, turn, asking);
    },
    processes: {
      start: async (input) => (await equipment()).processes.start(input),
      write: async (id, text) => (await equipment()).processes.write(id, text),
      endInput: async (id) => (await equipment()).processes.endInput(id),
      resize: async (id, size) => (await equipment()).processes.resize(id, size),
      ended: async (id, signal) => (await equipment()).processes.ended(id, signal),
      kill: async (id) => (await equipment()).processes.kill(id),
      close,
    },
    close,
  };
  async function close(): Promise<void> {
    await (await made)?.processes.close();
  }
}

const NOTHING_CONFIGURED = {
  tools: DEFAULT_TOOLS,
  memory: { enabled: true, flush: true },
  profile: "main",
} as const;
