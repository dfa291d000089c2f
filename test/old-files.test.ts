import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { getText } from "../src/core/message.ts";
import { throwIfRefused } from "../src/core/refusal.ts";
import type { Store } from "../src/ports/store.ts";
import { MIGRATIONS } from "../src/stores/sqlite/schema.ts";
import { sqliteStore } from "../src/stores/sqlite/store.ts";
import { cli } from "./support/cli.ts";
import { temporaryFolder } from "./support/folder.ts";

const asker = { everyone: true } as const;
const ANN = "20261001_120000_abc00001";
const FORK = "20261001_120000_abc00006";
const GROUP = "20261001_120000_abc00004";
const START = Date.UTC(2026, 9, 1, 12);
const NOW = START + 20_000;

/** A home with the database file that an earlier release wrote: two people, a group, a fork, an undo, a process. */
function createOldHome(): { readonly home: string; readonly file: string } {
  const { path: home, remove } = temporaryFolder();
  onTestFinished(remove);
  const file = join(home, "postrider.db");
  const packed = readFileSync(new URL("./old-files/schema-11.db.gz", import.meta.url));
  writeFileSync(file, gunzipSync(packed), { mode: 0o600 });
  return { home, file };
}

async function openStore(file: string, mode: "in-process" | "workers"): Promise<Store> {
  const store = await sqliteStore({ file, mode });
  onTestFinished(() => store.close());
  return store;
}

async function readTexts(store: Store, session: string): Promise<string[]> {
  return ((await store.messages.readHistory({ asker, session })) ?? []).map(getText);
}

describe.each(["in-process", "workers"] as const)("a database file of an earlier release (%s)", (mode) => {
  it("is migrated with all its sessions, views and search results, after a backup copy", async () => {
    const { file } = createOldHome();
    const store = await openStore(file, mode);
    expect(existsSync(`${file}.schema-11.bak`)).toBe(true);
    expect(await readTexts(store, ANN)).toEqual(["What is the weather in Rome?", "Sunny in Rome."]);
    expect(await readTexts(store, FORK)).toEqual([
      "What is the weather in Rome?",
      "Sunny in Rome.",
      "And in 京都?",
      "Rain in 京都.",
    ]);
    expect(await readTexts(store, GROUP)).toHaveLength(4);
    const hits = await store.messages.searchMessages({ asker, text: "rides" });
    expect(hits.map(({ session, seq }) => [session, seq]).toSorted()).toEqual([
      [GROUP, 1],
      [GROUP, 2],
      [GROUP, 4],
    ]);
    expect(await store.sessions.findByTitle({ asker, title: "Weather" })).toMatchObject({ id: FORK });
    throwIfRefused(await store.messages.changeView({ asker, session: ANN, kind: "redo", now: NOW }));
    expect(await readTexts(store, ANN)).toHaveLength(4);
  });

  it("keeps its pending message, its delivery, its memory and the output of its process", async () => {
    const { file } = createOldHome();
    const store = await openStore(file, mode);
    const [pending] = await store.turns.listClaimable({ now: NOW });
    const turn = await store.turns.claim({
      session: pending?.session ?? "",
      runner: "r_new",
      take: "one",
      now: NOW,
    });
    expect(turn?.target).toMatchObject({ platform: "telegram", chatId: "bob" });
    expect(await store.outbox.listPendingDeliveries({ dueAt: NOW, limit: 10 })).toMatchObject([
      { parts: [{ text: "Sunny in Rome." }] },
    ]);
    expect(await store.memory.getMemory({ owner: "person:x" as never })).toMatchObject({
      entries: ["Ann likes Rome."],
    });
    const read = (from: number) =>
      store.processes.readProcessOutput({ asker, id: "proc_00000000000a", from });
    expect(await read(0)).toEqual({ from: 0, total: 5016, text: "half 😀 whole " });
    // The last character of the output was half a pair, which no reader gets.
    expect((await read(15))?.text === "x".repeat(5000)).toBe(true);
    const db = new Database(file, { readonly: true });
    onTestFinished(() => void db.close());
    expect(db.pragma("user_version", { simple: true })).toBe(MIGRATIONS.length);
    const types = db.prepare("select typeof(text), typeof(utf16) from process_output").raw().all();
    expect(types).toEqual([
      ["text", "null"],
      ["text", "blob"],
    ]);
  });
});

it("a database file of an earlier release has no finding of the doctor", async () => {
  const { home } = createOldHome();
  const { code, out } = await cli(home, "doctor");
  expect(out).not.toMatch(/✗|error/i);
  expect(code).toBe(0);
});
