import { type Exit, KEPT_OUTPUT, type Process, type TellProcess } from "../../core/process.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { BeginProcess, KeepOutput } from "../../ports/processes.ts";
import type { Db } from "./connection.ts";
import { convertReadable, parseList } from "./json-columns.ts";
import { keepChunk, startOfLast } from "./process-output.ts";
import { type ProcessRow, processRow, toProcess } from "./process-rows.ts";
import type { SessionRow } from "./rows.ts";
import { isRunning, whoLives } from "./runners.ts";
import * as sql from "./sql.ts";

/** So long a program may be on its way to a keeper that is only just starting. */
const ON_ITS_WAY_MS = 30_000;
const KEPT_MATCHES = 8;
/** A line that matched is there to be shown in a chat. */
const LONGEST_MATCH = 1_000;

export function beginProcess(db: Db, input: BeginProcess): Process | Refused {
  const { process, now } = input;
  const session = db.get<SessionRow>(sql.sessionById, input.session);
  if (session === undefined || session.removed_at !== null)
    return refuse("not_found", "The session that this is to run for is gone; nothing was started.");
  if (processRow(db, process.id) !== undefined)
    return refuse("invalid_input", `There is a process ${process.id} already.`, { field: "id" });
  const running = db.get<{ n: number }>(sql.countOpenProcesses)?.n ?? 0;
  if (running >= input.most) {
    return refuse(
      "too_many",
      `${running} processes run already, and ${input.most} may. Wait for one to end, or end one: postrider processes kill ID.`,
      { running, most: input.most },
    );
  }
  db.run(
    sql.insertProcess,
    process.id,
    session.n,
    input.conversation,
    JSON.stringify(input.target),
    process.command,
    process.cwd,
    process.background ? 1 : 0,
    process.pty ? 1 : 0,
    JSON.stringify(process.watch),
    process.timeoutMs ?? null,
    now,
  );
  return present(db, process.id);
}

export function processRuns(
  db: Db,
  input: { id: string; keeper: string; pid: number; born: string; pty: boolean },
): Process | Refused {
  const row = processRow(db, input.id);
  if (row === undefined) return gone();
  if (row.state !== "starting")
    return refuse("not_allowed", `This process does not start any more: it is ${row.state}.`);
  db.run(sql.processRuns, input.keeper, input.pid, input.born, input.pty ? 1 : 0, row.n);
  return present(db, input.id);
}

export function keepOutput(db: Db, input: KeepOutput): { kept: true } | Refused {
  const row = processRow(db, input.id);
  if (row === undefined) return gone();
  if (row.state !== "running" || row.keeper !== input.keeper)
    return refuse("not_allowed", "Another looks after this process by now, or it has ended.");
  keepMore(db, row, input);
  return { kept: true };
}

export function endProcess(
  db: Db,
  input: {
    id: string;
    exit: Exit;
    onlyIfStarting?: boolean;
    output?: Pick<KeepOutput, "from" | "text" | "matched">;
    now: number;
  },
): Process | Refused {
  const row = processRow(db, input.id);
  if (row === undefined) return gone();
  if (row.state === "ended") return refuse("not_allowed", "This process has ended already.");
  if (input.onlyIfStarting && row.state !== "starting")
    return refuse("not_allowed", "This process has begun to run.");
  if (input.output !== undefined) keepMore(db, row, input.output);
  end(db, row.n, input.exit, input.now);
  if (input.onlyIfStarting) db.run(sql.endTold, input.now, row.n);
  return present(db, input.id);
}

export function adoptProcesses(
  db: Db,
  { keeper, attachable = [], now }: { keeper: string; attachable?: readonly string[]; now: number },
): Process[] {
  // A keeper that is stopped still is the parent of its programs, so it keeps them.
  const lives = whoLives(db, now, isRunning);
  for (const row of db.all<ProcessRow>(sql.openProcesses)) {
    if (row.keeper === null) {
      if (row.begun_at < now - ON_ITS_WAY_MS) end(db, row.n, { unknown: true }, now);
    } else if (row.keeper !== keeper && !lives(row.keeper)) {
      db.run(sql.adoptProcess, keeper, attachable.includes(row.id) ? row.detached : 1, row.n);
    }
  }
  const own = db.all<ProcessRow>(sql.openProcesses).filter((row) => row.keeper === keeper);
  return convertReadable(own, toProcess);
}

export function recordProcessInput(db: Db, { id, unfinished }: { id: string; unfinished?: string }): void {
  db.run(sql.recordProcessInput, unfinished ?? null, id);
}

export function tellProcess(db: Db, input: TellProcess & { now: number }): boolean {
  const { before } = input;
  return (
    db.run(
      sql.tellProcess,
      input.upTo,
      input.matches,
      input.end ? 1 : 0,
      input.now,
      input.process,
      before.upTo,
      before.matches,
      before.end ? 1 : 0,
    ).changes > 0
  );
}

function keepMore(
  db: Db,
  row: ProcessRow,
  { from, text, readTo, matched = [] }: Pick<KeepOutput, "from" | "text" | "readTo" | "matched">,
): void {
  // Given again by a keeper that could not know whether it was stored.
  if (text !== "" && from + text.length <= row.total) return;
  const start = Math.max(row.total - from, startOfLast(text, KEPT_OUTPUT));
  const total = from + text.length;
  if (text.length > start) keepChunk(db, row.n, { from: from + start, text: text.slice(start) });
  const lines = parseList<string>(row.match_lines) ?? [];
  const newest = [...lines, ...matched.map((line) => line.slice(0, LONGEST_MATCH))].slice(-KEPT_MATCHES);
  db.run(
    sql.keepOutput,
    Math.max(total, row.total),
    matched.length,
    newest.length === 0 ? null : JSON.stringify(newest),
    readTo ?? row.read_to,
    row.n,
  );
}

function end(db: Db, n: number, exit: Exit, now: number): void {
  db.run(sql.endProcess, now, "code" in exit ? exit.code : null, "signal" in exit ? exit.signal : null, n);
}

function gone(): Refused {
  return refuse("not_found", "There is no such process.");
}

function present(db: Db, id: string): Process {
  const row = processRow(db, id);
  if (row === undefined) throw new Error(`process ${id} is gone though it was just written`);
  return toProcess(row);
}
