import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const SOURCE = "src/stores/sql";
const TWIN = "src/stores/sql-async/generated";

const DB = `export interface Db {
  get<Row>(statement: string, ...values: readonly unknown[]): Row | undefined;
  all<Row>(statement: string, ...values: readonly unknown[]): Row[];
  run(statement: string, ...values: readonly unknown[]): number;
  readonly dialect: Dialect;
  readonly index: SearchIndex;
}
export interface Dialect { greatest(a: string, b: string): string }
export interface SearchIndex { find(text: string): number[] }
`;

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "postrider-twin-"));
  put("package.json", `{ "type": "module" }`);
  put(`${SOURCE}/db.ts`, DB);
  mkdirSync(join(root, dirname(TWIN)), { recursive: true });
  cpSync(join(PROJECT, dirname(TWIN), "arrays.ts"), join(root, dirname(TWIN), "arrays.ts"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(file: string, text: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
}

function readTwin(file: string): string {
  return readFileSync(join(root, TWIN, file), "utf8");
}

function run(script: string): { readonly status: number | null; readonly lines: string[] } {
  const args = [join(PROJECT, "scripts", script), "--root", root];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return { status, lines: `${stderr}${stdout}`.trimEnd().split("\n") };
}

describe("the asynchronous twin", () => {
  it("awaits every statement and every call that leads to one", () => {
    put(
      "src/core/names.ts",
      "export function joinNames(names: readonly string[]): string { return names.join(); }",
    );
    put(`${SOURCE}/rows.ts`, "export interface PersonRow { id: number; name: string }");
    put(`${SOURCE}/sql.ts`, `export const personSql = "select * from people where id = ?";`);
    put(
      `${SOURCE}/people.ts`,
      `import { joinNames } from "../../core/names.ts";
import type { Db } from "./db.ts";
import type { PersonRow } from "./rows.ts";
import * as sql from "./sql.ts";

/** One person. */
export function getPerson(db: Db, id: number): PersonRow | undefined {
  return db.get<PersonRow>(sql.personSql, id);
}
function getName(db: Db, id: number): string {
  return getPerson(db, id)?.name ?? db.dialect.greatest("a", "b");
}
export function listNames(db: Db, ids: readonly number[]): string {
  const isKnown = buildCheck(db);
  return joinNames(
    ids
      // the known ones
      .filter(isKnown)
      .map((id) => getName(db, id)),
  );
}
function buildCheck(db: Db): (id: number) => boolean {
  return (id) => db.index.find(String(id)).length > 0;
}
export function isSame(person: ReturnType<typeof getPerson>, id: number): boolean {
  return person?.id === id;
}
export function isEmpty(db: Db): boolean {
  return !db.all("select 1 from people").some(({}) => true);
}
interface Rule { readonly drop: string; before?(db: Db, id: number): void }
const RULES: readonly Rule[] = [{ drop: "delete", before: (db, id) => { db.run("update", id); } }];
export function applyRules(db: Db): number {
  for (const { drop, before } of RULES) { before?.(db, 1); db.run(drop); }
  const count = (id: number): number => db.run("count", id);
  return [1, 2].reduce((sum, id) => sum + count(id), 0) ** 2;
}
`,
    );
    put(
      `${SOURCE}/operations.ts`,
      `import type { Db } from "./db.ts";
export type Operation = (db: Db, input: never) => unknown;
export const OPERATIONS: Record<string, () => Promise<Record<string, Operation>>> = { people: () => import("./people.ts") };
`,
    );
    const { status, lines } = run("make-async.ts");
    expect(lines).toEqual([
      expect.stringMatching(
        /^async twin: 3 files, \d+ functions, \d+ awaited calls, 3 array callbacks \(.* s\)$/,
      ),
    ]);
    expect(status).toBe(0);
    expect(readTwin("people.ts")).toMatchInlineSnapshot(`
      "/* Generated from src/stores/sql/people.ts by scripts/make-async.ts. */ import { filterInOrder, mapInOrder, reduceInOrder } from "../arrays.ts"; import { joinNames } from "../../../core/names.ts";
      import type { Db } from "./db.ts";
      import type { PersonRow } from "../../sql/rows.ts";
      import * as sql from "../../sql/sql.ts";

      /** One person. */
      export async function getPerson(db: Db, id: number): Promise<PersonRow | undefined> {
        return await db.get<PersonRow>(sql.personSql, id);
      }
      async function getName(db: Db, id: number): Promise<string> {
        return (await getPerson(db, id))?.name ?? db.dialect.greatest("a", "b");
      }
      export async function listNames(db: Db, ids: readonly number[]): Promise<string> {
        const isKnown = await buildCheck(db);
        return joinNames(
          await mapInOrder((await filterInOrder(ids
            // the known ones
            , isKnown))
            , async (id) => await getName(db, id)),
        );
      }
      async function buildCheck(db: Db): Promise<(id: number) => Promise<boolean>> {
        return async (id) => (await db.index.find(String(id))).length > 0;
      }
      export function isSame(person: Awaited<ReturnType<typeof getPerson>>, id: number): boolean {
        return person?.id === id;
      }
      export async function isEmpty(db: Db): Promise<boolean> {
        return !(await db.all("select 1 from people")).some(({}) => true);
      }
      interface Rule { readonly drop: string; before?(db: Db, id: number): Promise<void> }
      const RULES: readonly Rule[] = [{ drop: "delete", before: async (db, id) => { await db.run("update", id); } }];
      export async function applyRules(db: Db): Promise<number> {
        for (const { drop, before } of RULES) { await before?.(db, 1); await db.run(drop); }
        const count = async (id: number): Promise<number> => await db.run("count", id);
        return (await reduceInOrder([1, 2], async (sum, id) => sum + await count(id), 0)) ** 2;
      }
      "
    `);
    expect(readTwin("operations.ts")).toMatchInlineSnapshot(`
      "/* Generated from src/stores/sql/operations.ts by scripts/make-async.ts. */ import type { Db } from "./db.ts";
      export type Operation = (db: Db, input: never) => Promise<unknown>;
      export const OPERATIONS: Record<string, () => Promise<Record<string, Operation>>> = { people: () => import("./people.ts") };
      "
    `);
    expect(readTwin("db.ts")).toMatchInlineSnapshot(`
      "/* Generated from src/stores/sql/db.ts by scripts/make-async.ts. */ export interface Db {
        get<Row>(statement: string, ...values: readonly unknown[]): Promise<Row | undefined>;
        all<Row>(statement: string, ...values: readonly unknown[]): Promise<Row[]>;
        run(statement: string, ...values: readonly unknown[]): Promise<number>;
        readonly dialect: Dialect;
        readonly index: SearchIndex;
      }
      export interface Dialect { greatest(a: string, b: string): string }
      export interface SearchIndex { find(text: string): Promise<number[]> }
      "
    `);
    expect(existsSync(join(root, TWIN, "rows.ts"))).toBe(false);
    expect(run("check-async.ts")).toEqual({
      status: 0,
      lines: ["4 files of the async twin, 0 misused promises"],
    });
  });

  it("is written only when the source has changed, and loses the files that the source has lost", () => {
    const people = (sql: string): string =>
      `import type { Db } from "./db.ts";\nexport function count(db: Db): number { return db.run("${sql}"); }\n`;
    const readTime = (): number => statSync(join(root, TWIN, "people.ts")).mtimeMs;
    put(`${SOURCE}/people.ts`, people("one"));
    put(`${SOURCE}/other.ts`, people("other"));
    expect(run("make-async.ts").status).toBe(0);
    const first = readTime();
    expect(run("make-async.ts")).toEqual({ status: 0, lines: ["async twin: up to date, 3 files"] });
    rmSync(join(root, SOURCE, "other.ts"));
    expect(run("make-async.ts").lines).toEqual([expect.stringMatching(/^async twin: 2 files/)]);
    expect(existsSync(join(root, TWIN, "other.ts"))).toBe(false);
    expect(readTime()).toBe(first);
    put(`${SOURCE}/people.ts`, people("two"));
    rmSync(join(root, TWIN, "people.ts"));
    run("make-async.ts");
    expect(readTwin("people.ts")).toContain(`await db.run("two")`);
  });

  it("is refused, with the place and the remedy, if the source has a step without an asynchronous form", () => {
    const faults: readonly (readonly [source: string, expected: RegExp])[] = [
      [`export const first = connection.get("top");`, /outside of a function/],
      [`export function* list(db: Db): Generator<number> { yield db.run("x"); }`, /a generator .* array/],
      [
        `export class A { constructor(readonly db: Db) {} get n(): number { return this.db.run("x"); } }`,
        /a getter/,
      ],
      [
        `export function isOne(db: Db, id: unknown): id is 1 { return id === db.run("x"); }`,
        /a type predicate/,
      ],
      [`export async function later(db: Db): Promise<number> { return db.run("x"); }`, /remove async/],
      [`export function lazy(db: Db): Promise<number> { return Promise.resolve(db.run("x")); }`, /a promise/],
      [`export function each(db: Db): Iterable<number> { return db.all("x"); }`, /an iterator .* array/],
      [
        `export function count(db: Db, n: number = db.run("x")): number { return n; }`,
        /default value of a parameter/,
      ],
      [
        `export function sort(db: Db, ids: number[]): number[] { return ids.sort((a) => db.run("x", a)); }`,
        /^sort calls .* for loop/,
      ],
      [
        `export function group(db: Db, ids: number[]): unknown { return Map.groupBy(ids, (id) => db.run("x", id)); }`,
        /^groupBy calls/,
      ],
      [
        `export function each2(db: Db, ids: Set<number>): void { ids.forEach((id) => { db.run("x", id); }); }`,
        /^forEach calls/,
      ],
      [`export function pass(db: Db): number { return callTwice(() => db.run("x")); }`, /^callTwice calls/],
      [
        `export function store(db: Db, all: unknown[]): void { all.push(() => db.run("x")); }`,
        /function type/,
      ],
      [
        `export function sum(db: Db, ids: number[]): number { return ids.reduce((a, b) => a + db.run("x", b)); }`,
        /initial value/,
      ],
      [
        `export function maybe(db: Db, ids?: number[]): unknown { return ids?.map((id) => db.run("x", id)); }`,
        /check for undefined/,
      ],
      [
        `export function typed(db: Db, ids: number[]): unknown { return ids.map<number>((id) => db.run("x", id)); }`,
        /no type arguments/,
      ],
      [
        `export function chain(db: Db, f?: (db: Db) => number): unknown { return f?.(db).toFixed(); }`,
        /optional chain/,
      ],
    ];
    put("src/core/twice.ts", "export function callTwice(f: () => number): number { return f() + f(); }");
    const head = [
      `import { callTwice } from "../../core/twice.ts";`,
      `import type { Db } from "./db.ts";`,
      "declare const connection: Db;",
    ];
    put(`${SOURCE}/faults.ts`, [...head, ...faults.map(([source]) => source)].join("\n"));
    const { status, lines } = run("make-async.ts");
    expect(status).toBe(1);
    faults.forEach(([source, expected], index) => {
      const place = `${SOURCE}/faults.ts:${head.length + index + 1} `;
      const texts = lines.filter((line) => line.startsWith(place)).map((line) => line.slice(place.length));
      expect(texts, source).toEqual(expect.arrayContaining([expect.stringMatching(expected)]));
    });
    expect(lines.filter((line) => !line.startsWith(`${SOURCE}/faults.ts:`))).toEqual([]);
    expect(existsSync(join(root, TWIN, "faults.ts"))).toBe(false);
  });
});

describe("the check of the twin", () => {
  it("finds a promise that is used like a value", () => {
    const faults: readonly (readonly [source: string, expected: RegExp])[] = [
      [`  if (isKnown(db, 1)) return 1;`, /as a condition/],
      [`  const a = isKnown(db, 1) ? 1 : 2;`, /as a condition/],
      [`  const b = !isKnown(db, 1);`, /as a condition/],
      [`  while (ids.length > 0 && isKnown(db, 1)) return 2;`, /as a condition/],
      [`  const d = ids.filter((id) => isKnown(db, id));`, /^filter does not await/],
      [`  const e = ids.some(check);`, /^some does not await/],
      [`  const f = ids.map(async (id) => await isKnown(db, id));`, /^map does not await/],
      [`  const g: () => void = async () => { await isKnown(db, 1); };`, /for one that does not/],
      [`  isKnown(db, 1);`, /nothing awaits/],
      ["  const h = `$" + "{isKnown(db, 1)}`;", /template string/],
      [`  const i = isKnown(db, 1) === undefined;`, /operand of ===/],
      [`  const j = "x" in isKnown(db, 1);`, /operand of in/],
      [`  const k = { ...isKnown(db, 1) };`, /is spread/],
      [`  const l = JSON.stringify(isKnown(db, 1));`, /argument of JSON.stringify/],
      [`  await db.run("x", isKnown(db, 1));`, /argument of db.run/],
      [`  await unwrap(isKnown(db, 1));`, /argument of unwrap/],
      [`  const n = { known: isKnown(db, 1) };`, /without await/],
      [`  const o = isKnown(db, 1);`, /without await/],
      [`  const q = isKnown(db, 1).constructor;`, /without await/],
      [`  const r = isKnown(db, 1) as unknown as boolean;`, /without await/],
    ];
    const head = [
      `export interface Db { run(statement: string, ...values: readonly unknown[]): Promise<number> }`,
      "async function isKnown(db: Db, id: number): Promise<boolean> { return (await db.run('x', id)) > 0; }",
      "function unwrap<T>(value: T): T { return value; }",
      "export async function count(db: Db, ids: readonly number[], check: (id: number) => Promise<boolean>): Promise<number> {",
    ];
    const tail = [
      "  const p = await Promise.all(ids.map(async (id) => await isKnown(db, id)));",
      "  return ids.length > 1 ? isKnown(db, 1).then(Number) : (await isKnown(db, 2)) ? 1 : 2;",
      "}",
    ];
    put(`${TWIN}/faults.ts`, [...head, ...faults.map(([source]) => source), ...tail].join("\n"));
    const { status, lines } = run("check-async.ts");
    expect(status).toBe(1);
    const places = faults.map(([source, expected], index) => {
      const place = `${TWIN}/faults.ts:${head.length + index + 1} `;
      const texts = lines.filter((line) => line.startsWith(place)).map((line) => line.slice(place.length));
      expect(texts, source).toEqual([expect.stringMatching(expected)]);
      return place;
    });
    const others = lines.filter((line) => !places.some((place) => line.startsWith(place)));
    expect(others).toEqual([`2 files of the async twin, ${faults.length} misused promises`]);
  });

  it("fails if the twin was not generated", () => {
    expect(run("check-async.ts")).toEqual({
      status: 1,
      lines: [`${dirname(TWIN)} has no generated files: run node scripts/make-async.ts`],
    });
  });
});
