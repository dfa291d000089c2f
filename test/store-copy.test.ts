import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { localRunner } from "../src/index.ts";
import { COPIED_TABLES } from "../src/stores/copy/copied-tables.ts";
import type { CopyEnd } from "../src/stores/copy/copy-end.ts";
import { type CopyStep, copyStore } from "../src/stores/copy/copy-store.ts";
import { openPostgresSource } from "../src/stores/postgres/copy/source.ts";
import { openPostgresTarget } from "../src/stores/postgres/copy/target.ts";
import { TABLES } from "../src/stores/postgres/schema.ts";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { MIGRATIONS } from "../src/stores/sqlite/schema.ts";
import { sqliteStore } from "../src/stores/sqlite/store.ts";
import { checkDatabase } from "../src/stores/sqlite/upkeep/check-database.ts";
import { openSqliteSource } from "../src/stores/sqlite/upkeep/copy-source.ts";
import { openSqliteTarget } from "../src/stores/sqlite/upkeep/copy-target.ts";
import { readStartTicks } from "../src/system/process-identity.ts";
import { changeFile, dumpFile, fillStore } from "./store-copy/fill-store.ts";
import { killCopies } from "./store-copy/kill-copies.ts";
import { type Ran, runCommand } from "./support/command.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { gatewayScene } from "./support/gateway-program.ts";
import { createTestSchema } from "./support/postgres-room.ts";
import { connectTestServer, findTestServer } from "./support/postgres-server.ts";
import { seeded } from "./support/random.ts";
import { schedule } from "./support/schedule.ts";
import { normalize, observe, type World } from "./two-engines/world.ts";

const SEED = Number(process.env.POSTRIDER_SEED ?? Date.now() % 2 ** 31);
const folder = temporaryFolder();
const first = join(folder.path, "first.db");
let world: World;
let files = 0;

beforeAll(async () => {
  console.log(`store copy: POSTRIDER_SEED=${SEED}`);
  world = await fillStore(first, SEED);
  return () => folder.remove();
});

function newFile(): string {
  files += 1;
  return join(folder.path, `${files}.db`);
}

interface Schema {
  readonly url: string;
  readonly schema: string;
  readonly address: string;
}

async function newSchema(): Promise<Schema> {
  const [url, schema] = [await findTestServer(), createTestSchema()];
  return { url, schema, address: `${url}?schema=${schema}` };
}

const copy = (from: string, to: string, ...more: readonly string[]): Promise<Ran> =>
  runCommand(folder.path, ["store", "copy", from, to, ...more]);

async function observeFile(file: string): Promise<string> {
  const store = await sqliteStore({ file, mode: "in-process" });
  try {
    return normalize(world, await observe({ ...world, store }));
  } finally {
    await store.close();
  }
}

async function observeSchema({ url, schema }: Schema): Promise<string> {
  const store = await openPostgresStore({ url, schema, clock: "caller" });
  try {
    return normalize(world, await observe({ ...world, store }));
  } finally {
    await store.close();
  }
}

/** Copies, and stops with an error at the first report of a step. */
async function interrupt(
  source: CopyEnd,
  target: Awaited<ReturnType<typeof openPostgresTarget>>,
  onStep: (step: CopyStep, table: string) => void,
): Promise<Error & { code?: string; details?: Record<string, unknown> }> {
  try {
    await copyStore({
      source,
      target,
      restart: false,
      now: Date.now,
      onProgress: (step, _done, _all, table) => onStep(step, table),
    });
  } catch (error) {
    return error as Error;
  } finally {
    await target.close();
    await source.close();
  }
  throw new Error("the copy was not interrupted");
}

const failAt = (wanted: string) => (step: CopyStep, table: string) => {
  if (`${step} ${table}` === wanted) throw new Error(`stopped at ${wanted}`);
};

describe("postrider store copy", () => {
  it("copies every table of both schemas except the search index", () => {
    const names = COPIED_TABLES.map(({ name }) => name).toSorted();
    expect(names).toEqual(TABLES.filter((name) => name !== "words"));
    const filled = dumpFile(first);
    expect(Object.keys(filled).filter((name) => name !== "sqlite_sequence")).toEqual(names);
    expect(names.filter((name) => filled[name]?.length === 0)).toEqual([]);
    look(first, (db) => {
      for (const { name, key, isNumbered } of COPIED_TABLES) {
        const columns = db.prepare("select name from pragma_table_info(?) where pk > 0 order by pk");
        expect(columns.pluck().all(name), name).toEqual(key);
        const { sql } = db.prepare("select sql from sqlite_schema where name = ?").get(name) as {
          sql: string;
        };
        expect(sql.includes("autoincrement"), name).toBe(isNumbered === true);
      }
    });
  });

  it("moves everything to PostgreSQL and back into an equal file", async () => {
    const schema = await newSchema();
    const second = newFile();
    const before = dumpFile(first);
    const shown = await observeFile(first);
    const there = await copy(`sqlite:${first}`, schema.address, "--json");
    expect(there).toMatchObject({ code: 0, err: "" });
    const result = JSON.parse(there.out);
    expect(result).toMatchObject({ copy: "new", sessions: before.sessions?.length });
    expect(result.to).toContain(`schema ${schema.schema}`);
    expect(await observeSchema(schema)).toBe(shown);
    const back = await copy(schema.address, `sqlite:${second}`);
    expect(back).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/ rows?, verified\.\n$/) });
    expect(dumpFile(second)).toEqual(before);
    expect(dumpFile(first)).toEqual(before);
    expect(await observeFile(second)).toBe(shown);
    const findings = checkDatabase(second, { depth: "full", now: Date.now() });
    expect(findings.filter(({ check }) => check === "search_index" || check === "database")).toMatchObject([
      { state: "ok" },
      { state: "ok" },
    ]);
    // New rows get new numbers.
    const admin = await connectTestServer();
    const { rows } = await admin.query(
      `insert into "${schema.schema}".decisions (conversation, at, decision) values (1, 1, 'created') returning n`,
    );
    expect(rows).toEqual([{ n: "5001" }]);
  });

  it("says that it is finished when it is run again, and refuses when one side has changed since", async () => {
    const second = newFile();
    expect(await copy(`sqlite:${first}`, `sqlite:${second}`)).toMatchObject({ code: 0 });
    const again = await copy(`sqlite:${first}`, `sqlite:${second}`);
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining("copied before, verified.") });
    changeFile(second, (db) =>
      db.exec("update messages set text = 'other' where id = (select min(id) from messages)"),
    );
    const changed = await copy(`sqlite:${first}`, `sqlite:${second}`, "--json");
    expect(changed.code).toBe(5);
    const id = look(first, (db) =>
      db.prepare("select id from sessions where n = (select min(id) >> 24 from messages)").pluck().get(),
    );
    expect(JSON.parse(changed.err).error).toMatchObject({
      code: "file_exists",
      details: { mismatches: [{ table: "messages", session: id, problem: "different" }] },
    });
  });

  it("shows its progress on a terminal", async () => {
    const { err } = await runCommand(
      folder.path,
      ["store", "copy", `sqlite:${first}`, `sqlite:${newFile()}`],
      { columns: 80 },
    );
    expect(err).toMatch(/copied \d+ %: messages/);
    expect(err).toMatch(/verified \d+ %: allowed/);
  });

  it(
    "continues after it was killed at random moments, in both directions",
    async () => {
      const random = seeded(SEED).next;
      for (let round = 0; round < schedule(1, 5); round += 1) {
        const [schema, source, back] = [await newSchema(), newFile(), newFile()];
        const plan = {
          source,
          schema,
          back,
          kills: schedule(2, 5),
          messages: schedule(4000, 20_000),
          random,
        };
        expect(await killCopies(plan)).toEqual(["resumed", "resumed"]);
        expect(dumpFile(back)).toEqual(dumpFile(source));
        const countWords = (file: string) =>
          look(file, (db) => db.prepare("select count(*) from words where words match 'w7'").pluck().get());
        expect(countWords(back)).toBe(countWords(source));
      }
    },
    schedule(60_000, 600_000),
  );
});

describe("an unfinished copy", () => {
  it("on PostgreSQL cannot be opened, belongs to its source, and is finished by the same command", async () => {
    const schema = await newSchema();
    const source = openSqliteSource(first);
    const failed = await interrupt(source, await openPostgresTarget(schema), failAt("copied views"));
    expect(failed.message).toBe("stopped at copied views");
    await expect(openPostgresStore(schema)).rejects.toMatchObject({
      code: "incomplete_copy",
      message: expect.stringContaining("Run the same postrider store copy again"),
    });
    await expect(openPostgresSource(schema)).rejects.toMatchObject({ code: "incomplete_copy" });
    const listed = await runCommand(folder.path, ["sessions", "list"], {
      environment: { POSTRIDER_STORE: schema.address },
    });
    expect(listed).toMatchObject({ code: 5, err: expect.stringContaining("is an unfinished copy") });
    const other = newFile();
    await (await sqliteStore({ file: other, mode: "in-process" })).close();
    const refused = await copy(`sqlite:${other}`, schema.address);
    expect(refused).toMatchObject({
      code: 5,
      err: expect.stringContaining(`is an unfinished copy of sqlite:${first}`),
    });
    const { out } = await copy(`sqlite:${first}`, schema.address, "--json");
    expect(JSON.parse(out)).toMatchObject({ copy: "resumed" });
    expect(await observeSchema(schema)).toBe(await observeFile(first));
  });

  it("in a file cannot be opened, and is not finished if a row differs", async () => {
    const second = newFile();
    let tampered = false;
    const failed = await interrupt(openSqliteSource(first), openSqliteTarget(second), (step) => {
      if (step !== "verified" || tampered) return;
      tampered = true;
      changeFile(second, (db) => {
        db.exec("update usage set input_tokens = input_tokens + 1 where purpose = 'a'");
        db.exec("delete from guesses");
        db.exec("insert into homes values ('signal', '{}', 1)");
      });
    });
    const session = look(first, (db) =>
      db
        .prepare("select id from sessions where n = (select session from usage where purpose = 'a')")
        .pluck()
        .get(),
    );
    expect(failed).toMatchObject({
      code: "incomplete_copy",
      message: expect.stringContaining(`usage of session ${session} differs`),
    });
    expect(failed.details?.mismatches).toEqual(
      expect.arrayContaining([
        { table: "usage", session, problem: "different" },
        { table: "guesses", problem: "count" },
        { table: "guesses", row: "big", problem: "missing" },
        { table: "homes", row: "signal", problem: "extra" },
      ]),
    );
    for (const mode of ["in-process", "workers"] as const)
      await expect(sqliteStore({ file: second, mode })).rejects.toMatchObject({ code: "incomplete_copy" });
    expect(checkDatabase(second, { depth: "quick", now: 1 })).toMatchObject([{ state: "problem" }]);
    expect(await copy(`sqlite:${first}`, `sqlite:${second}`)).toMatchObject({ code: 5 });
    expect(await copy(`sqlite:${first}`, `sqlite:${second}`, "--restart")).toMatchObject({ code: 0 });
    expect(dumpFile(second)).toEqual(dumpFile(first));
  });

  it("that another version of Postrider started is not continued", async () => {
    const [schema, second] = [await newSchema(), newFile()];
    await interrupt(openSqliteSource(first), await openPostgresTarget(schema), failAt("copied views"));
    await interrupt(openSqliteSource(first), openSqliteTarget(second), failAt("copied views"));
    const admin = await connectTestServer();
    await admin.query(`update "${schema.schema}".schema_version set version = version - 1`);
    changeFile(second, (db) => db.pragma(`user_version = ${MIGRATIONS.length - 1}`));
    const expected = { code: 5, err: expect.stringContaining("that another version of Postrider started") };
    expect(await copy(`sqlite:${first}`, schema.address)).toMatchObject(expected);
    expect(await copy(`sqlite:${first}`, `sqlite:${second}`)).toMatchObject(expected);
    await expect(openPostgresStore(schema)).rejects.toMatchObject({ code: "incomplete_copy" });
  });

  it("stops when another process continues it", async () => {
    const second = newFile();
    const [one, two] = [openSqliteTarget(second), openSqliteTarget(second)];
    onTestFinished(() => two.close());
    const taking: Promise<void>[] = [];
    const failed = await interrupt(openSqliteSource(first), one, (step, table) => {
      if (`${step} ${table}` === "copied views") taking.push(two.takeOver());
    });
    expect(failed).toMatchObject({ code: "in_use", message: expect.stringContaining("so this one stops") });
    await Promise.all(taking);
  });
});

describe("store copy refuses", () => {
  it("a target with data, and leaves it as it is", async () => {
    const [schema, second] = [await newSchema(), newFile()];
    await fillStore(second, 7);
    const before = dumpFile(second);
    const refused = await copy(`sqlite:${first}`, `sqlite:${second}`);
    expect(refused).toMatchObject({ code: 5, err: expect.stringContaining("already contains data") });
    expect(dumpFile(second)).toEqual(before);
    const store = await openPostgresStore(schema);
    await store.memory.changeMemory({ owner: "p", change: { action: "add", text: "x" }, now: 1 });
    await store.close();
    expect(await copy(`sqlite:${first}`, schema.address)).toMatchObject({
      code: 5,
      err: expect.stringContaining("already contains data (table memories)"),
    });
  });

  it("a source with a running gateway, and names it", async () => {
    const scene = await gatewayScene();
    const { pid } = await scene.gateway();
    const target = newFile();
    const database = join(scene.home, "postrider.db");
    const { code, err } = await copy(`sqlite:${database}`, `sqlite:${target}`);
    expect(code).toBe(5);
    expect(err).toContain(`is in use: gateway (process ${pid} on ${hostname()}). End it and try again`);
    expect(await scene.ask("still there?")).toContain("still there?");
  });

  it("a schema that another process uses, as source and as target", async () => {
    const schema = await newSchema();
    const store = await openPostgresStore(schema);
    const runner = { ...localRunner(), pid: process.ppid, started: readStartTicks(process.ppid) ?? "" };
    await store.runners.recordHeartbeat({ runner, now: Date.now() });
    await store.runners.acquireLease({ name: "worker:w", runner: runner.id, ttlMs: 60_000, now: Date.now() });
    await store.close();
    const expected = { code: 5, err: expect.stringContaining(`worker w (process ${process.ppid} on`) };
    expect(await copy(schema.address, `sqlite:${newFile()}`)).toMatchObject(expected);
    expect(await copy(`sqlite:${first}`, schema.address)).toMatchObject(expected);
  });

  it("writes to the source while it is copied", async () => {
    const schema = await newSchema();
    await copy(`sqlite:${first}`, schema.address);
    const source = await openPostgresSource(schema);
    const store = await openPostgresStore({ ...schema, lockTimeoutMs: 100, retryMs: 300 });
    const write = () => store.inbox.moveCursor({ cursor: { name: "c", value: "1" }, now: 1 });
    await expect(write()).rejects.toMatchObject({ code: "busy" });
    await source.close();
    await write();
    await store.close();
  });

  it("a row that refers to a missing one, and says what to do", async () => {
    const [schema, broken] = [await newSchema(), newFile()];
    await fillStore(broken, 8);
    changeFile(broken, (db) => {
      db.pragma("foreign_keys = OFF");
      db.exec("insert into holds values (4000, 'job', 1)");
    });
    expect(await copy(`sqlite:${broken}`, schema.address)).toMatchObject({
      code: 1,
      err: expect.stringContaining("refused a row of the table holds"),
    });
  });

  it("wrong addresses, a missing source, and the source itself as target", async () => {
    const { address, schema } = await newSchema();
    const wrong = await copy("mysql://user:hidden@host/x", `sqlite:${first}`);
    expect(wrong).toMatchObject({
      code: 2,
      err: expect.stringContaining("FROM is not the address of a store"),
    });
    expect(wrong.err).not.toContain("hidden");
    const missing = newFile();
    expect(await copy(`sqlite:${missing}`, address)).toMatchObject({ code: 3 });
    expect(existsSync(missing)).toBe(false);
    expect(await copy(address, `sqlite:${missing}`)).toMatchObject({
      code: 3,
      err: expect.stringContaining(`There is no store in the schema ${schema}`),
    });
    expect(await copy(`sqlite:${first}`, `sqlite:${first}`)).toMatchObject({
      code: 1,
      err: expect.stringContaining("are the same database"),
    });
  });
});
