import { OWNER } from "../core/owner.ts";
import { DEFAULT_TOOLS } from "../core/tool-settings.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { Tool } from "../ports/tool.ts";
import type { Processes } from "../processes/processes.ts";
import { systemZone } from "../system/system-clock.ts";
import type { TurnRequester } from "../turns/build-tools.ts";
import type { PreparedTurn } from "../turns/turn-hooks.ts";
import type { ToolHostOptions } from "./build-tool-host.ts";

export interface LocalToolsOptions extends Omit<ToolHostOptions, "processes"> {
  readonly store: Store;
  readonly clock: Clock;
  /** Tools of plugins. */
  customTools?(): readonly Tool[];
}

/** The tools of local chats of the owner: a terminal or an editor. */
export interface LocalTools {
  /** Preloads the modules of the first turn. */
  load(): Promise<unknown>;
  /** Prepares the prompt and the tools of a turn. Without a working directory there are no tools. */
  prepare(turn: Turn, location?: Pick<TurnRequester, "cwd" | "folder" | "terminal">): Promise<PreparedTurn>;
  readonly processes: Processes;
}

/** Loaded with the first turn, to keep the start fast. */
export function createLocalTools(options: LocalToolsOptions): LocalTools {
  const { home, store, clock } = options;
  const processes = connectLazily(async () => {
    const { connectHomeProcesses } = await import("./connect-home-processes.ts");
    return connectHomeProcesses(home, store, clock);
  });
  const load = () => Promise.all([import("../turns/prepare-turn.ts"), import("./build-tool-host.ts")]);
  return {
    processes,
    load,
    async prepare(turn, location) {
      const [{ prepareTurn }, { buildToolHost: equipmentOf }] = await load();
      const settings = options.config()?.gateway ?? { ...UNCONFIGURED_SETTINGS, zone: systemZone() };
      const equipment = equipmentOf({ ...options, processes });
      const asking =
        location && ({ asker: { person: OWNER }, role: "owner", chatType: "dm", ...location } as const);
      const customTools = options.customTools?.() ?? [];
      const context = { store, clock, settings, platforms: [], toolHost: equipment, customTools };
      return prepareTurn(context, turn, asking);
    },
  };
}

/** The processes of the home, connected on first use, because most turns start none. */
function connectLazily(connect: () => Promise<Processes>): Processes {
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
    waitForEnd: async (id, signal) => (await connected()).waitForEnd(id, signal),
    kill: async (id) => (await connected()).kill(id),
    async close() {
      await (await made)?.close();
    },
  };
}

const UNCONFIGURED_SETTINGS = {
  tools: DEFAULT_TOOLS,
  memory: { enabled: true, flush: true },
  profile: "main",
  personalities: {},
  privacy: {},
  scope: {},
  homes: [],
} as const;
