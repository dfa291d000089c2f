import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { indexed } from "../../../test/support/database.ts";
import { schedule } from "../../../test/support/schedule.ts";
import { fileHarness } from "../../../test/support/store-harness.ts";
import { getText, type NewMessage } from "../../core/message.ts";
import type { Asker } from "../../core/owner.ts";
import { isRefused, throwIfRefused } from "../../core/refusal.ts";
import type { ViewChange } from "../../core/view-change.ts";
import type { Store } from "../../ports/store.ts";
import { storeContract } from "../../testing/index.ts";
import { sqliteStore } from "./store.ts";

for (const mode of schedule(["in-process"] as const, ["in-process", "workers"] as const)) {
  describe(`the SQLite store, ${mode}`, () => {
    const harness = fileHarness(
      (file) => sqliteStore({ file, mode }),
      (_, file) => indexed(file),
    );
    storeContract({ describe, it }, harness);
  });
}

/** A line of a conversation. Each contains a unique word for searches. */
interface Line {
  readonly word: string;
  readonly human: boolean;
  readonly saidIn: string;
}

/** A session as plain lists. */
interface Model {
  readonly id: string;
  readonly said: Line[];
  shown: readonly Line[];
  hidden: Set<Line>;
  /** The lines that each version showed when it was replaced; the last entry is the current one's number. */
  readonly left: Map<number, readonly Line[]>;
  version: number;
  redo: (readonly Line[])[];
}

type Step =
  | { readonly kind: "say"; readonly session: number; readonly human: readonly boolean[] }
  | { readonly kind: "rewrite"; readonly session: number; readonly human: readonly boolean[] }
  | { readonly kind: "compress"; readonly session: number; readonly keepLast: number }
  | { readonly kind: "rewind"; readonly session: number; readonly place: number }
  | { readonly kind: "restore"; readonly session: number; readonly version: number }
  | { readonly kind: "fork"; readonly session: number; readonly keep: number | undefined }
  | { readonly kind: "undo" | "redo" | "remove" | "index"; readonly session: number };

const session = fc.nat({ max: 3 });
const human = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("say" as const), session, human }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom("undo" as const, "redo" as const), session }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("rewrite" as const), session, human }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("compress" as const), session, keepLast: fc.nat({ max: 5 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rewind" as const), session, place: fc.nat({ max: 9 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("restore" as const), session, version: fc.nat({ max: 6 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("fork" as const),
      session,
      keep: fc.option(fc.nat({ max: 9 }), { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("remove" as const, "index" as const), session }),
  },
);

const ann: Asker = { person: "p_ann" };
const NOW = Date.UTC(2026, 2, 15);

describe("any sequence of operations", () => {
  it("shows, stores and finds the same as plain lists", { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const folder = await mkdtemp(join(tmpdir(), "postrider-model-"));
        const file = join(folder, "postrider.db");
        const store = await sqliteStore({ file, mode: "in-process" });
        try {
          const world = await beginning(store, file);
          for (const next of steps) await take(store, world, next);
          await compare(store, world);
          await compareSearch(store, world);
          for (const { id } of world.living)
            await store.sessions.remove({ asker: ann, session: id, now: NOW });
          await store.close();
          expect(leftovers(file)).toEqual({});
        } finally {
          await store.close();
          await rm(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: schedule(20, 60) },
    );
  });
});

interface World {
  readonly file: string;
  readonly living: Model[];
  readonly lines: Line[];
  sessions: number;
}

async function beginning(store: Store, file: string): Promise<World> {
  const world: World = { file, living: [], lines: [], sessions: 0 };
  await create(store, world);
  return world;
}

async function create(store: Store, world: World): Promise<void> {
  world.sessions += 1;
  const id = `s${world.sessions}`;
  throwIfRefused(
    await store.sessions.create({ session: { id, kind: "chat", owner: "p_ann" }, profile: "main", now: NOW }),
  );
  world.living.push({ id, said: [], shown: [], hidden: new Set(), left: new Map(), version: 0, redo: [] });
}

/** One step, in the store and in the lists; both must agree whether it is possible. */
async function take(store: Store, world: World, next: Step): Promise<void> {
  const { living } = world;
  const model = living[next.session % living.length];
  if (model === undefined) return create(store, world);
  const ask = { asker: ann, session: model.id, now: NOW };
  const reshape = async (change: Change, shown: readonly Line[] | undefined, redo: Model["redo"] = []) => {
    const done = await store.messages.changeView({ ...change, ...ask });
    expect(isRefused(done)).toBe(shown === undefined);
    if (isRefused(done) || shown === undefined) return;
    expect([done.length, done.before]).toEqual([shown.length, model.shown.length]);
    reshaped(model, shown, redo, change.kind === "compress");
    expect(done.version).toBe(model.version);
  };
  switch (next.kind) {
    case "say": {
      const lines = newLines(world, model, next.human);
      throwIfRefused(await store.messages.append({ ...ask, messages: lines.map(messageOf) }));
      model.shown = [...model.shown, ...lines];
      model.redo = [];
      return;
    }
    case "undo": {
      const last = model.shown.findLastIndex((line) => line.human);
      const shown = last < 0 ? undefined : model.shown.slice(0, last);
      return reshape({ kind: "undo" }, shown, [...model.redo, model.shown]);
    }
    case "redo":
      return reshape({ kind: "redo" }, model.redo.at(-1), model.redo.slice(0, -1));
    case "rewind": {
      const line = model.shown[next.place];
      const to = line && { session: line.saidIn, seq: seqOf(world, line) };
      const shown = line && model.shown.slice(0, next.place + 1);
      const nowhere = { session: model.id, seq: 9999 };
      return reshape({ kind: "rewind", to: to ?? nowhere }, shown, [...model.redo, model.shown]);
    }
    case "restore": {
      const shown = next.version === model.version ? model.shown : model.left.get(next.version);
      return reshape({ kind: "restore", version: next.version }, shown);
    }
    case "rewrite": {
      const before = model.said.length;
      const lines = newLines(world, model, next.human);
      await reshape({ kind: "rewrite", messages: lines.map(messageOf) }, lines);
      expect(model.said.length).toBe(before + lines.length);
      return;
    }
    case "compress": {
      const [summary] = newLines(world, model, [false]);
      if (summary === undefined) return;
      const tail = next.keepLast === 0 ? [] : model.shown.slice(-next.keepLast);
      return reshape({ kind: "compress", summary: messageOf(summary), keepLast: next.keepLast }, [
        summary,
        ...tail,
      ]);
    }
    case "fork": {
      world.sessions += 1;
      const newSession = { id: `s${world.sessions}`, kind: "chat" as const };
      const keep = next.keep === undefined ? {} : { keep: next.keep };
      throwIfRefused(await store.sessions.fork({ ...ask, newSession, ...keep }));
      const shown = model.shown.slice(0, next.keep ?? model.shown.length);
      living.push({
        id: newSession.id,
        said: [],
        shown,
        hidden: new Set(),
        left: new Map(),
        version: 1,
        redo: [],
      });
      return;
    }
    case "remove":
      expect(await store.sessions.remove(ask)).toBe(true);
      living.splice(living.indexOf(model), 1);
      return compare(store, world);
    case "index":
      return indexed(world.file);
  }
}

type Change = ViewChange extends infer R
  ? R extends ViewChange
    ? Omit<R, "asker" | "session" | "now">
    : never
  : never;

function reshaped(model: Model, shown: readonly Line[], redo: Model["redo"], compressed: boolean): void {
  model.left.set(model.version, model.shown);
  model.version += 1;
  const own = model.shown.filter((line) => line.saidIn === model.id);
  if (!compressed) {
    model.hidden = new Set([...model.hidden, ...own].filter((line) => !shown.includes(line)));
  }
  model.shown = shown;
  model.redo = redo;
}

function newLines(world: World, model: Model, humans: readonly boolean[]): Line[] {
  const lines = humans.map((isHuman, index) => ({
    word: `word${world.lines.length + index}`,
    human: isHuman,
    saidIn: model.id,
  }));
  world.lines.push(...lines);
  model.said.push(...lines);
  return lines;
}

function messageOf(line: Line): NewMessage {
  return { role: line.human ? "user" : "assistant", parts: [{ type: "text", text: line.word }] };
}

/** The number of a line in its session, which may be removed by now. */
function seqOf(world: World, line: Line): number {
  return world.lines.filter((other) => other.saidIn === line.saidIn).indexOf(line) + 1;
}

async function compare(store: Store, { living }: World): Promise<void> {
  for (const model of living) {
    const ask = { asker: ann, session: model.id };
    expect((await store.messages.readHistory(ask))?.map(getText)).toEqual(
      model.shown.map((line) => line.word),
    );
    expect((await store.messages.listMessages(ask))?.map(getText)).toEqual(
      model.said.map((line) => line.word),
    );
  }
  expect((await store.sessions.getStats({ asker: ann })).sessions).toBe(living.length);
}

/** A line is found in its own session, unless that was removed or has hidden it; else in a fork that shows it. */
async function compareSearch(store: Store, { living, lines }: World): Promise<void> {
  for (const line of lines) {
    const own = living.find((model) => model.id === line.saidIn);
    const showing = living.filter((model) => model.id !== line.saidIn && model.shown.includes(line));
    const found = (await store.messages.searchMessages({ asker: ann, text: line.word })).map(
      (hit) => hit.session,
    );
    if (own !== undefined && !own.hidden.has(line)) expect([line.word, found]).toEqual([line.word, [own.id]]);
    else if (showing.length === 0) expect([line.word, found]).toEqual([line.word, []]);
    else expect(showing.map((model) => [model.id])).toContainEqual(found);
    const all = await store.messages.searchMessages({ asker: ann, text: line.word, undone: true });
    expect(all.length).toBe(own !== undefined || showing.length > 0 ? 1 : 0);
  }
}

/** The number of rows that are left after all sessions were removed. */
function leftovers(file: string): Record<string, number> {
  const db = new Database(file, { readonly: true });
  try {
    const rows: Record<string, number> = {};
    for (const table of ["sessions", "messages", "views", "pieces", "hidden", "holds", "words_docsize"]) {
      const count = db.prepare(`select count(*) from ${table}`).pluck().get() as number;
      if (count > 0) rows[table] = count;
    }
    return rows;
  } finally {
    db.close();
  }
}
