import { type Asker, OWNER } from "../../core/owner.ts";
import type { Store } from "../../ports/store.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { type Home, makeHome, resolveHome } from "../home.ts";
import { openHomeStore } from "../open-store.ts";
import { type Io, printNotice } from "./io.ts";

export interface OpenStore {
  readonly home: Home;
  readonly store: Store;
}

export interface OpenHome extends OpenStore {
  readonly sessions: Sessions;
}

/** Opens the store for one short command, in this thread, and always closes it. */
export async function withStore<Result>(io: Io, use: (open: OpenStore) => Promise<Result>): Promise<Result> {
  const home = prepareHome(io);
  const store = await openHomeStore({ home, environment: io.environment, mode: "in-process" });
  try {
    return await use({ home, store });
  } finally {
    await store.close();
  }
}

/** Also opens the sessions library, which takes longer to load: for commands that change data. */
export async function withHome<Result>(io: Io, use: (open: OpenHome) => Promise<Result>): Promise<Result> {
  const { createSessions } = await import("../../sessions/sessions.ts");
  const { systemClock } = await import("../../system/system-clock.ts");
  const clock = { ...systemClock, now: () => io.now() };
  return withStore(io, ({ home, store }) => use({ home, store, sessions: createSessions({ store, clock }) }));
}

/** Creates the home at the first use, and welcomes the person at a terminal. */
export function prepareHome(io: Io, greet: (line: string) => void = (line) => printWelcome(io, line)): Home {
  const home = resolveHome(io.environment);
  makeHome(home);
  if (!process.getBuiltinModule("node:fs").existsSync(home.database) && !io.environment.POSTRIDER_STORE) {
    greet(`Welcome to Postrider. All messages are stored in ${home.folder}, which only you can read.`);
    greet("postrider --help lists the commands; /help lists the commands of the chat.");
  }
  return home;
}

function printWelcome(io: Io, line: string): void {
  if (io.notices.isTTY) printNotice(io, line);
}

/** Commands act as the owner of the home. `--everyone` includes the data of other people. */
export function toAsker(everyone: boolean): Asker {
  return everyone ? { everyone: true } : { person: OWNER };
}
