import { type Exit, KEPT_OUTPUT, type Process, type ProcessReport } from "../../core/process.ts";
import { type Refused, refuse } from "../../core/refusal.ts";
import type { BeginProcess, ProcessOutputChunk } from "../../ports/process-store.ts";
import type { Db } from "./db.ts";
import { convertReadable, parseList } from "./json-columns.ts";
import { appendChunk, findKeptStart } from "./process-output.ts";
import { findProcessRow, type ProcessRow, toProcess } from "./process-rows.ts";
import type { SessionRow } from "./rows.ts";
import { createLivenessCache, hasRunnerProcessCached, mayReturnElsewhere } from "./runners.ts";
import {
  adoptProcessSql,
  countOpenProcessesSql,
  endProcessSql,
  insertProcessSql,
  markProcessEndReportedSql,
  markProcessReportedSql,
  markProcessRunningSql,
  openProcessesSql,
  recordProcessInputSql,
  recordProcessOutputSql,
} from "./statements/processes.ts";
import { sessionByIdSql } from "./statements/sessions.ts";

/** The maximum time until a keeper that is just starting takes a new process. */
const START_TIMEOUT_MS = 30_000;
const MAX_MATCHES = 8;
/** A matched line is shown in a chat. */
const MAX_MATCH_LENGTH = 1_000;

export function beginProcess(db: Db, input: BeginProcess): Process | Refused {
  const { process, now } = input;
  const session = db.get<SessionRow>(sessionByIdSql, input.session);
  if (session === undefined || session.removed_at !== null)
    return refuse("not_found", "The session of this process is gone; nothing was started.");
  if (findProcessRow(db, process.id) !== undefined)
    return refuse("invalid_input", `There is a process ${process.id} already.`, { field: "id" });
  const running = db.get<{ n: number }>(countOpenProcessesSql)?.n ?? 0;
  if (running >= input.maxRunning) {
    return refuse(
      "too_many",
      `${running} processes run already, and ${input.maxRunning} is the limit. Wait for one to end, or end one: postrider processes kill ID.`,
      { running, most: input.maxRunning },
    );
  }
  db.send(
    insertProcessSql,
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
  return requireProcess(db, process.id);
}

export function markProcessRunning(
  db: Db,
  input: { id: string; keeper: string; pid: number; startTime: string; pty: boolean },
): Process | Refused {
  const row = findProcessRow(db, input.id);
  if (row === undefined) return refuseMissing();
  if (row.state !== "starting")
    return refuse("not_allowed", `This process cannot start: it is ${row.state}.`);
  db.send(markProcessRunningSql, input.keeper, input.pid, input.startTime, input.pty ? 1 : 0, row.n);
  return requireProcess(db, input.id);
}

export function appendProcessOutput(db: Db, input: ProcessOutputChunk): { kept: true } | Refused {
  const row = findProcessRow(db, input.id);
  if (row === undefined) return refuseMissing();
  if (row.state !== "running" || row.keeper !== input.keeper)
    return refuse("not_allowed", "Another keeper supervises this process, or it has ended.");
  storeOutput(db, row, input);
  return { kept: true };
}

export function endProcess(
  db: Db,
  input: {
    id: string;
    exit: Exit;
    onlyIfStarting?: boolean;
    output?: Pick<ProcessOutputChunk, "from" | "text" | "matched">;
    now: number;
  },
): Process | Refused {
  const row = findProcessRow(db, input.id);
  if (row === undefined) return refuseMissing();
  if (row.state === "ended") return refuse("not_allowed", "This process has ended already.");
  if (input.onlyIfStarting && row.state !== "starting")
    return refuse("not_allowed", "This process already runs.");
  if (input.output !== undefined) storeOutput(db, row, input.output);
  markEnded(db, row.n, input.exit, input.now);
  if (input.onlyIfStarting) db.send(markProcessEndReportedSql, input.now, row.n);
  return requireProcess(db, input.id);
}

export function adoptProcesses(
  db: Db,
  { keeper, attachable = [], now }: { keeper: string; attachable?: readonly string[]; now: number },
): Process[] {
  // A stopped keeper is still the parent of its processes, so it keeps them.
  const cache = createLivenessCache();
  for (const row of db.all<ProcessRow>(openProcessesSql)) {
    if (row.keeper === null) {
      if (row.begun_at < now - START_TIMEOUT_MS) markEnded(db, row.n, { unknown: true }, now);
    } else if (
      row.keeper !== keeper &&
      !hasRunnerProcessCached(db, cache, row.keeper, now) &&
      !mayReturnElsewhere(db, row.keeper, now)
    ) {
      db.send(adoptProcessSql, keeper, attachable.includes(row.id) ? row.detached : 1, row.n);
    }
  }
  const own = db.all<ProcessRow>(openProcessesSql).filter((row) => row.keeper === keeper);
  return convertReadable(own, toProcess);
}

export function recordProcessInput(db: Db, { id, unfinished }: { id: string; unfinished?: string }): void {
  db.send(recordProcessInputSql, unfinished ?? null, id);
}

export function markProcessReported(db: Db, input: ProcessReport & { now: number }): boolean {
  const { before } = input;
  return (
    db.run(
      markProcessReportedSql,
      input.upTo,
      input.matches,
      input.end ? 1 : 0,
      input.now,
      input.process,
      before.upTo,
      before.matches,
      before.end ? 1 : 0,
    ) > 0
  );
}

function storeOutput(
  db: Db,
  row: ProcessRow,
  { from, text, readTo, matched = [] }: Pick<ProcessOutputChunk, "from" | "text" | "readTo" | "matched">,
): void {
  // A keeper sends output again if it does not know whether it was stored.
  if (text !== "" && from + text.length <= row.total) return;
  const start = Math.max(row.total - from, findKeptStart(text, KEPT_OUTPUT));
  const total = from + text.length;
  if (text.length > start) appendChunk(db, row.n, { from: from + start, text: text.slice(start) });
  const lines = parseList<string>(row.match_lines) ?? [];
  const newest = [...lines, ...matched.map((line) => line.slice(0, MAX_MATCH_LENGTH))].slice(-MAX_MATCHES);
  db.send(
    recordProcessOutputSql,
    Math.max(total, row.total),
    matched.length,
    newest.length === 0 ? null : JSON.stringify(newest),
    readTo ?? row.read_to,
    row.n,
  );
}

function markEnded(db: Db, n: number, exit: Exit, now: number): void {
  db.send(endProcessSql, now, "code" in exit ? exit.code : null, "signal" in exit ? exit.signal : null, n);
}

function refuseMissing(): Refused {
  return refuse("not_found", "There is no such process.");
}

function requireProcess(db: Db, id: string): Process {
  const row = findProcessRow(db, id);
  if (row === undefined) throw new Error(`process ${id} is missing right after its write`);
  return toProcess(row);
}
