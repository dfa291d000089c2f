import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Message } from "../../src/core/message.ts";
import type { Process } from "../../src/core/process.ts";
import { type Store, sqliteStore } from "../../src/index.ts";
import type { Witnessed } from "../gateway/protocol.ts";
import { EFFECTS, type Errand, ledgerOf } from "./errands.ts";
import type { Left } from "./leftovers.ts";
import type { Shape } from "./provider-rules.ts";

/** All evidence: the messages that people saw, the files, and the rows. */
export interface Evidence {
  readonly errands: readonly Errand[];
  readonly witnessed: readonly Witnessed[];
  /** The lines that commands appended. */
  readonly effects: readonly string[];
  /** By the name of the person. */
  readonly people: Readonly<Record<string, Belongings>>;
  /** Written files by their trace, with their content. */
  readonly files: Readonly<Record<string, string>>;
  /** All histories that an agent got, turn by turn. */
  readonly given: readonly (readonly Shape[])[];
  /** The times at which the keeper was killed. */
  readonly keeperKills: readonly number[];
  /** The processes that still ran at the end. */
  readonly left: readonly Left[];
}

/** The data of one person. */
export interface Belongings {
  readonly ledger: readonly string[];
  readonly memory: readonly string[];
  readonly history: readonly Message[];
  readonly processes: readonly Process[];
}

export interface Gathering
  extends Pick<Evidence, "errands" | "witnessed" | "given" | "keeperKills" | "left"> {
  readonly database: string;
  /** The working folders of commands. */
  readonly work: string;
}

const program = { everyone: true } as const;

export async function gather({ database, work, ...rest }: Gathering): Promise<Evidence> {
  const store = await sqliteStore({ file: database, mode: "in-process" });
  try {
    const names = [...new Set(rest.errands.map(({ person }) => person))];
    const people: Record<string, Belongings> = {};
    for (const name of names) people[name] = await belongingsOf(store, name, work);
    return { ...rest, people, effects: linesIn(join(work, EFFECTS)), files: filesIn(join(work, "files")) };
  } finally {
    await store.close();
  }
}

async function belongingsOf(store: Store, name: string, work: string): Promise<Belongings> {
  const source = { platform: "fake", chatType: "dm", chatId: `dm-${name}`, userId: name };
  const [conversation] = await store.conversations.findConversations({ asker: program, source });
  const session = conversation?.session ?? "";
  const person = (await store.access.getAccount({ platform: "fake", userId: name }))?.person ?? "";
  return {
    ledger: linesIn(join(work, ledgerOf(name))).filter((line) => line !== "END"),
    memory: (await store.memory.getMemory({ owner: person })).entries,
    history: (await store.messages.readHistory({ asker: program, session })) ?? [],
    processes: await store.processes.listProcesses({
      asker: program,
      session,
      endedSince: 0,
      foreground: true,
      limit: 10_000,
    }),
  };
}

function linesIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}

function filesIn(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  return Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith(".txt"))
      .map((name) => [name.slice(0, -".txt".length), readFileSync(join(folder, name), "utf8").trim()]),
  );
}
