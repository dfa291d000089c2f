import { type Asker, OWNER } from "../../core/owner.ts";
import type { Store } from "../../ports/store.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { sqliteStore } from "../../stores/sqlite/store.ts";
import { type Home, makeHome, resolveHome } from "../home.ts";
import { type Io, printNotice } from "./io.ts";

export interface OpenStore {
  readonly home: Home;
  readonly store: Store;
}

export interface OpenHome extends OpenStore {
  readonly sessions: Sessions;
}

/** The store for one short command: everything in this thread, closed at the end whatever happens. */
export async function withStore<Result>(io: Io, use: (open: OpenStore) => Promise<Result>): Promise<Result> {
  const home = prepareHome(io);
  const store = await sqliteStore({ file: home.database, mode: "in-process" });
  try {
    return await use({ home, store });
  } finally {
    await store.close();
  }
}

/** With the library's face as well, which takes longer to load: for commands that change something. */
export async function withHome<Result>(io: Io, use: (open: OpenHome) => Promise<Result>): Promise<Result> {
  const { createSessions } = await import("../../sessions/sessions.ts");
  const { systemClock } = await import("../../system/system-clock.ts");
  const clock = { ...systemClock, now: () => io.now() };
  return withStore(io, ({ home, store }) => use({ home, store, sessions: createSessions({ store, clock }) }));
}

/** The home, made at the first use of Postrider, with a word of welcome to whoever sits there. */
export function prepareHome(io: Io, greet: (line: string) => void = (line) => printWelcome(io, line)): Home {
  const home = resolveHome(io.environment);
  makeHome(home);
  if (!process.getBuiltinModule("node:fs").existsSync(home.database)) {
    greet(`Welcome to Postrider. Everything you say is kept in ${home.folder}, readable by you alone.`);
    greet("postrider --help lists the commands; /help does so inside the chat.");
  }
  return home;
}

function printWelcome(io: Io, line: string): void {
  if (io.notices.isTTY) printNotice(io, line);
}

/** Commands act as the owner of the home; `--everyone` is for whoever looks after it. */
export function toAsker(everyone: boolean): Asker {
  return everyone ? { everyone: true } : { person: OWNER };
}
