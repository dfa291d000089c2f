import type { Asker } from "../../core/owner.ts";
import { KEPT_OUTPUT, type Process, type ProcessOutput } from "../../core/process.ts";
import type { ProcessQuery } from "../../ports/process-store.ts";
import type { Db } from "./db.ts";
import { convertReadable } from "./json-columns.ts";
import { readLastOutput, readOutputFrom } from "./process-output.ts";
import { findProcessRow, type ProcessRow, toProcess } from "./process-rows.ts";
import { getSessionRow } from "./routing.ts";
import { buildProcessListSql, PROCESS_CONDITIONS, watchedProcessesSql } from "./statements/processes.ts";
import { buildVisibleCondition, isVisible } from "./visibility.ts";

export function getProcess(db: Db, input: { asker: Asker; id: string }): Process | undefined {
  const row = findVisibleProcess(db, input.asker, input.id);
  return row && toProcess(row);
}

export function listProcesses(db: Db, input: ProcessQuery): Process[] {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions: string[] = [where, PROCESS_CONDITIONS.inKeptSession];
  const bound: unknown[] = [...values];
  if (input.session !== undefined) {
    conditions.push(PROCESS_CONDITIONS.session);
    bound.push(input.session);
  }
  if (input.conversation !== undefined) {
    conditions.push(PROCESS_CONDITIONS.conversation);
    bound.push(input.conversation);
  }
  if (input.foreground !== true) conditions.push(PROCESS_CONDITIONS.background);
  const { endedSince, limit = Number.MAX_SAFE_INTEGER } = input;
  const rows = db.all<ProcessRow>(
    buildProcessListSql(db.dialect, conditions, endedSince !== undefined),
    ...bound,
    ...(endedSince === undefined ? [] : [endedSince, ...bound]),
    limit,
  );
  return convertReadable(rows, toProcess);
}

export function readProcessOutput(
  db: Db,
  input: { asker: Asker; id: string; from?: number; limit?: number },
): ProcessOutput | undefined {
  const row = findVisibleProcess(db, input.asker, input.id);
  if (row === undefined) return undefined;
  const limit = Math.max(0, input.limit ?? KEPT_OUTPUT);
  return input.from === undefined
    ? readLastOutput(db, row, limit)
    : readOutputFrom(db, row, input.from, limit);
}

export function listWatchedProcesses(db: Db): Process[] {
  return convertReadable(db.all<ProcessRow>(watchedProcessesSql), toProcess);
}

function findVisibleProcess(db: Db, asker: Asker, id: string): ProcessRow | undefined {
  const row = findProcessRow(db, id);
  if (row === undefined) return undefined;
  const session = getSessionRow(db, row.session);
  return session.removed_at === null && isVisible(asker, session) ? row : undefined;
}
