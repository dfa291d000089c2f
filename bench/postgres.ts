import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { PostgresServer } from "../test/support/postgres-server.ts";
import type { Size } from "./gateway.ts";
import type { Report } from "./goals.ts";
import { atOnce, median, quantile, ratio, rounds, type Timed, typical } from "./measure.ts";
import {
  bareRows,
  bareStatements,
  POOL_SIZE,
  type PostgresSubject,
  postgresSubject,
  routingOf,
  seedConversations,
  startBenchServer,
} from "./postgres-subjects.ts";
import { text } from "./subjects.ts";

const CONVERSATIONS = 64;
const GOAL = 0.8;

/** The store on a PostgreSQL of its own, on the same machine, with fsync on. */
export async function postgres(report: Report, size: Size): Promise<void> {
  const { server, end } = await startBenchServer();
  try {
    await turns(report, size, server.url);
    await claims(report, size, server.url);
    await notifications(report, size, server.url);
    await gateways(report, size, server.url);
    await costs(report, size, server);
  } finally {
    await end();
  }
}

async function turns(report: Report, { rounds: count, turns: most }: Size, url: string): Promise<void> {
  report.heading("PostgreSQL: turns at 1, 8 and 64 sessions at once (accept + finish, two commits)");
  report.note(
    `fsync on, client and server on the same cores, ${POOL_SIZE} connections. "Rows" writes the same rows and nothing else; "statements" runs the store's own statements in its order; both are pipelined like the store.\n`,
  );
  for (const schema of ["rows", "statements"]) {
    const { store } = await postgresSubject(url, schema);
    await seedConversations(store, CONVERSATIONS);
    await store.close();
  }
  const rows = bareRows(url, "rows");
  const statements = bareStatements(url, "statements");
  const subject = await postgresSubject(url, "postrider");
  await seedConversations(subject.store, CONVERSATIONS);
  let index = 0;
  let done = 0;
  const table: string[][] = [];
  const goals: [what: string, value: number][] = [];
  for (const lanes of [1, 8, 64]) {
    const steps = Math.round(lanes === 1 ? most / 3 : most);
    const run =
      ({ turn }: Pick<PostgresSubject, "turn">) =>
      () =>
        atOnce(lanes, steps, (_, lane) => turn(lane, index++));
    const results = await rounds(count, {
      rows: run(rows),
      statements: run(statements),
      store: run(subject),
    });
    done += steps * (count + 1);
    const line = (name: string, timed: readonly Timed[]): string[] => {
      const { perSecond, p50, p99 } = typical(timed);
      const times = [results.rows, results.statements].map((floor) => `${ratio(timed, floor).toFixed(2)}×`);
      return [name, perSecond.toFixed(0), ...times, p50.toFixed(2), p99.toFixed(2)];
    };
    table.push(
      line(`${lanes} at once: bare, rows`, results.rows),
      line(`${lanes} at once: bare, statements`, results.statements),
      line(`${lanes} at once: store`, results.store),
    );
    if (lanes !== 8) {
      goals.push([`store, ${lanes} at once, x bare rows`, ratio(results.store, results.rows)]);
      goals.push([`store, ${lanes} at once, x bare statements`, ratio(results.store, results.statements)]);
    }
  }
  report.table(["", "turns/s", "x rows", "x statements", "p50 ms", "p99 ms"], table);
  report.note("");
  for (const [what, value] of goals) report.goal(what, value, { atLeast: GOAL });
  report.goal("retries per turn", subject.store.countRetries() / done, { atMost: 0.01 });
  await rows.end();
  await statements.end();
  await subject.store.close();
}

async function claims(report: Report, { turns: most }: Size, url: string): Promise<void> {
  report.heading("PostgreSQL: claims of queued messages");
  const schema = "claims";
  const [first, second] = [await postgresSubject(url, schema), await postgresSubject(url, schema)];
  const sessions = await queueMessages(first, Math.round(most / 2));
  const each = Math.floor(sessions.length / 3);
  let won = 0;
  const claim = async ({ store, runner }: PostgresSubject, session: string | undefined): Promise<void> => {
    const now = Date.now();
    if (await store.turns.claim({ session: session ?? "", runner, take: "one", now })) won += 1;
  };
  const one = await atOnce(1, each, (i) => claim(first, sessions[i]));
  const many = await atOnce(64, each, (i) => claim(first, sessions[each + i]));
  // Two stores compete for each session, and one of them gets it.
  const race = await atOnce(32, each, (i) =>
    Promise.all([first, second].map((subject) => claim(subject, sessions[2 * each + i]))),
  );
  const row = (name: string, { perSecond, p50, p99 }: Timed): string[] => [
    name,
    perSecond.toFixed(0),
    p50.toFixed(2),
    p99.toFixed(2),
  ];
  report.table(
    ["", "claims/s", "p50 ms", "p99 ms"],
    [row("one by one", one), row("64 at once", many), row("two stores compete, 32 sessions at once", race)],
  );
  report.note("");
  const retries = first.store.countRetries() + second.store.countRetries();
  report.goal("claims won, per session", won / (3 * each), { atLeast: 1 });
  report.goal("the same, at most", won / (3 * each), { atMost: 1 });
  report.goal("retries per claim", retries / (3 * each), { atMost: 0.01 });
  await first.store.close();
  await second.store.close();
}

/** Each in its own session. */
async function queueMessages({ store }: PostgresSubject, count: number): Promise<string[]> {
  const sessions: string[] = [];
  await atOnce(POOL_SIZE, count, async (i) => {
    const accepted = await store.inbox.accept({
      ...routingOf(i),
      messageId: randomUUID(),
      message: { role: "user", parts: [{ type: "text", text: text(i) }] },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined) throw new Error("the message was not queued");
    sessions.push(accepted.session.id);
  });
  return sessions;
}

async function notifications(report: Report, { quick }: Size, url: string): Promise<void> {
  report.heading("PostgreSQL: from a commit in one store to onChange in another");
  const [writer, reader] = [await postgresSubject(url, "notify"), await postgresSubject(url, "notify")];
  await seedConversations(writer.store, 1);
  const times: number[] = [];
  for (let i = 0; i < (quick ? 50 : 300); i++) {
    const heard = new Promise<number>((resolve) => {
      const stop = reader.store.onChange(() => {
        stop();
        resolve(performance.now());
      });
    });
    await writer.store.inbox.accept({
      ...routingOf(0),
      messageId: randomUUID(),
      message: { role: "user", parts: [{ type: "text", text: text(i) }] },
    });
    // Both are in this process, so the other store may hear of it before the answer to COMMIT was read.
    const committed = performance.now();
    times.push(Math.max(0, (await heard) - committed));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  report.table(
    ["p50 ms", "p99 ms", "longest ms"],
    [[0.5, 0.99, 1].map((q) => quantile(times, q).toFixed(2))],
  );
  report.note("");
  report.goal("notification, ms, p99", quantile(times, 0.99), { atMost: 50 });
  await writer.store.close();
  await reader.store.close();
}

interface ProcessResult {
  readonly p99: number;
  readonly retries: number;
}

async function gateways(report: Report, size: Size, url: string): Promise<void> {
  report.heading("PostgreSQL: 1, 2 and 4 processes on one database, 16 sessions at once in each");
  const lanes = 16;
  const { store } = await postgresSubject(url, "gateways");
  await seedConversations(store, 4 * lanes);
  await store.close();
  const processes = await Promise.all(
    [0, 1, 2, 3].map(async (at) => {
      const file = fileURLToPath(new URL("postgres-process.ts", import.meta.url));
      const child = fork(file, [url, "gateways", String(at * lanes), String(lanes)]);
      await once(child, "message");
      return child;
    }),
  );
  const total = size.turns;
  let retries = 0;
  const run = (count: number) => async () => {
    const start = performance.now();
    const results = await Promise.all(
      processes.slice(0, count).map((child) => runTurns(child, Math.round(total / count))),
    );
    for (const result of results) retries += result.retries;
    return {
      perSecond: (total / (performance.now() - start)) * 1000,
      p50: 0,
      p99: median(results.map(({ p99 }) => p99)),
    };
  };
  const results = await rounds(size.rounds, { one: run(1), two: run(2), four: run(4) });
  const row = (name: string, timed: readonly Timed[]): string[] => [
    name,
    typical(timed).perSecond.toFixed(0),
    `${ratio(timed, results.one).toFixed(2)}×`,
    typical(timed).p99.toFixed(2),
  ];
  report.table(
    ["processes", "turns/s together", "x one", "p99 ms"],
    [row("1", results.one), row("2", results.two), row("4", results.four)],
  );
  report.note("");
  report.goal("retries per turn, all processes", retries / (3 * total * (size.rounds + 1)), { atMost: 0.01 });
  for (const child of processes) child.disconnect();
}

async function runTurns(child: ChildProcess, turns: number): Promise<ProcessResult> {
  const answer = once(child, "message");
  child.send(turns);
  const [result] = await answer;
  return result as ProcessResult;
}

/** What a turn costs the server, for sizing. Processor time does not depend on what else runs on the machine. */
async function costs(report: Report, { turns: most }: Size, { url, pid }: PostgresServer): Promise<void> {
  report.heading("PostgreSQL: the cost of a turn");
  const subject = await postgresSubject(url, "costs");
  await seedConversations(subject.store, CONVERSATIONS);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const readSizes = async (): Promise<{ wal: number; disk: number }> => {
    const { rows } = await client.query(
      `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal, sum(pg_total_relation_size(oid))::float8 as disk
       from pg_class where relnamespace = 'costs'::regnamespace and relkind = 'r'`,
    );
    return rows[0];
  };
  const run = (count: number) => atOnce(POOL_SIZE, count, (i, lane) => subject.turn(lane, i));
  await run(200);
  await subject.store.indexPending();
  const before = { ...(await readSizes()), server: readServerCpu(pid), own: process.cpuUsage() };
  await run(most);
  await subject.store.indexPending();
  const after = { ...(await readSizes()), server: readServerCpu(pid), own: process.cpuUsage(before.own) };
  const row = (name: string, value: number, digits: number): string[] => [
    name,
    (value / most).toFixed(digits),
  ];
  report.table(
    ["", "per turn"],
    [
      row("processor time of the server, ms", after.server - before.server, 2),
      row("processor time of the store, ms", (after.own.user + after.own.system) / 1000, 2),
      row("write-ahead log, bytes", after.wal - before.wal, 0),
      row("tables and indexes, bytes, the search index included", after.disk - before.disk, 0),
    ],
  );
  await client.end();
  await subject.store.close();
}

const TICK_MS = 10;

/** The processor time of a server and its connections that still exist, in milliseconds. Linux only. */
function readServerCpu(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // After the name of the command, which may contain spaces: state, parent, and from the 12th on the times.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(name) === pid || Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // The process has ended meanwhile.
    }
  }
  return ticks * TICK_MS;
}
