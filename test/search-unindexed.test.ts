import { join } from "node:path";
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { fillDatabase } from "../bench/fill-database.ts";
import { OWNER, sqliteStore } from "../src/index.ts";
import { MAX_UNINDEXED_READ } from "../src/stores/sql/search.ts";
import { cli } from "./support/cli.ts";
import { indexed, look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";

const MESSAGES = MAX_UNINDEXED_READ + 5000;
const waiting = (file: string): number =>
  look(file, (db) =>
    Number(db.prepare("select coalesce(sum(next_seq - 1 - indexed_seq), 0) from sessions").pluck().get()),
  );
let home: string;
let database: string;

beforeEach(() => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  home = folder.path;
  database = join(home, "postrider.db");
  fillDatabase({ file: database, messages: MESSAGES, indexed: false });
});

it("finds the newest messages before they are indexed, reports the unsearched ones, and extends the index", async () => {
  const newest = await cli(home, "sessions", "search", `"message ${MESSAGES}"`, "--json");
  expect(JSON.parse(newest.out)).toMatchObject({
    hits: [{ seq: 100 }],
    complete: false,
    unsearched: MESSAGES - MAX_UNINDEXED_READ,
  });
  expect(newest.err).toContain(
    `The index is not complete: ${MESSAGES - MAX_UNINDEXED_READ} older messages were not`,
  );
  expect(waiting(database)).toBeLessThan(MESSAGES);
  let oldest = { complete: false, hits: [] as unknown[] };
  while (!oldest.complete)
    oldest = JSON.parse(
      (await cli(home, "sessions", "search", '"message 1"', "--json")).out,
    ) as typeof oldest;
  expect(oldest.hits).toHaveLength(1);
}, 60_000);

it("a running process indexes messages in the background", async () => {
  const store = await sqliteStore({ file: database, mode: "workers" });
  onTestFinished(() => store.close());
  await indexed(database);
  const request = { asker: { person: OWNER }, text: '"message 1"' };
  expect(await store.messages.searchMessages(request)).toHaveLength(1);
  expect(await store.messages.countUnindexed(request)).toBe(0);
}, 60_000);

it("an import indexes its messages before it ends", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const file = join(folder.path, "sessions.jsonl");
  expect(await cli(home, "sessions", "export", "--all", "-o", file)).toMatchObject({ code: 0 });
  const other = join(folder.path, "home");
  expect(await cli(other, "sessions", "import", file)).toMatchObject({ code: 0 });
  expect(waiting(join(other, "postrider.db"))).toBe(0);
}, 60_000);
