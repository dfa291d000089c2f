import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { sqliteStore } from "../src/stores/sqlite/store.ts";
import { connectTestServer, findTestServer } from "./support/postgres-server.ts";
import { schedule } from "./support/schedule.ts";
import { ACTION_KINDS, type Action, act, createWorld, normalize, observe } from "./two-engines/world.ts";

const SCHEMA = "two_engines";
const [RUNS, LENGTH] = schedule([1, 90], [20, 500]);
/** Comparing everything takes longer than an action. */
const COMPARED_EVERY = 45;

const words = fc.constantFrom(
  "hello world",
  "world, hello",
  "there",
  "你好世界",
  "nul \0 and \ufdd0",
  "half \ud83d pair",
  "",
);
const text = fc.oneof(words, fc.string({ unit: "binary", maxLength: 12 }), words);
const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom<Action["kind"]>("accept", "claim", "finish", "append") },
    { weight: 3, arbitrary: fc.constantFrom(...ACTION_KINDS) },
  ),
  a: fc.nat(200),
  b: fc.nat(200),
  text,
});

it(
  "gives the same answers and the same state on SQLite and on PostgreSQL, whatever is done",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "postrider-two-engines-"));
    const url = await findTestServer();
    const admin = await connectTestServer();
    const seed = Number(process.env.POSTRIDER_SEED ?? Date.now() % 2 ** 31);
    console.log(`two engines: POSTRIDER_SEED=${seed}`);
    let runs = 0;
    const compare = async (actions: readonly Action[]): Promise<void> => {
      runs += 1;
      await admin.query(`drop schema if exists ${SCHEMA} cascade`);
      const sqlite = await sqliteStore({ file: join(folder, `${runs}.db`), mode: "in-process" });
      const postgres = await openPostgresStore({ url, schema: SCHEMA, clock: "caller", poolSize: 4 });
      try {
        const worlds = [createWorld(sqlite), createWorld(postgres)] as const;
        for (const [index, it] of actions.entries()) {
          const results = await Promise.all(
            worlds.map(async (world) => normalize(world, await act(world, it))),
          );
          expect(results[1], `action ${index}: ${JSON.stringify(it)}`).toBe(results[0]);
          if ((index + 1) % COMPARED_EVERY !== 0 && index < actions.length - 1) continue;
          const [one, two] = await Promise.all(
            worlds.map(async (world) => normalize(world, await observe(world))),
          );
          expect(JSON.parse(two ?? ""), `after action ${index}`).toEqual(JSON.parse(one ?? ""));
        }
      } finally {
        await Promise.all([sqlite.close(), postgres.close()]);
      }
    };
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: LENGTH, maxLength: LENGTH, size: "max" }), compare),
        { numRuns: RUNS, seed, endOnFailure: true },
      );
    } finally {
      await admin.query(`drop schema if exists ${SCHEMA} cascade`);
      await rm(folder, { recursive: true, force: true });
    }
  },
  schedule(60_000, 1_200_000),
);
