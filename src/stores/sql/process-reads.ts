import type { Asker } from "../../core/owner.ts";
import { KEPT_OUTPUT, type Process, type ProcessOutput } from "../../core/process.ts";
import type { ProcessQuery } from "../../ports/process-store.ts";
import type { Db } from "./db.ts";
import { convertReadable } from "./json-columns.ts";
import { readLastOutput, readOutputFrom } from "./process-output.ts";
import { findProcessRow, type ProcessRow, toProcess } from "./process-rows.ts";
import { getSessionRow } from "./routing.ts";
import { watchedProcessesSql } from "./statements/processes.ts";
import { buildVisibleCondition, isVisible } from "./visibility.ts";

export function getProcess(db: Db, input: { asker: Asker; id: string }): Process | undefined {
  const row = findVisibleProcess(db, input.asker, input.id);
  return row && toProcess(row);
}

export function listProcesses(db: Db, input: ProcessQuery): Process[] {
  const { statement, values } = buildProcessesQuery(input);
  return convertReadable(db.all<ProcessRow>(statement, ...values), toProcess);
}

/** Running processes are found by an index on open rows, ended ones by their end: neither scans all rows. */
export function buildProcessesQuery(input: ProcessQuery): {
  readonly statement: string;
  readonly values: readonly unknown[];
} {
  const { where, values } = buildVisibleCondition(input.asker);
  const conditions = [where, "s.removed_at is null"];
  const bound: unknown[] = [...values];
  if (input.session !== undefined) {
    conditions.push("p.session = (select n from sessions where id = ?)");
    bound.push(input.session);
  }
  if (input.conversation !== undefined) {
    conditions.push("p.conversation = ?");
    bound.push(input.conversation);
  }
  if (input.foreground !== true) conditions.push("p.background = 1");
  const shared = conditions.join(" and ");
  // A cross join fixes the order of the tables: a person may have thousands of sessions.
  const select = "select p.*, s.id as session_id from processes p cross join sessions s on s.n = p.session";
  const parts = [`${select} where p.state <> 'ended' and ${shared}`];
  const all = [...bound];
  if (input.endedSince !== undefined) {
    parts.push(`${select} where p.ended_at is not null and p.ended_at >= ? and ${shared}`);
    all.push(input.endedSince, ...bound);
  }
  return {
    statement: `select * from (${parts.join(" union all ")}) order by +n desc limit ?`,
    values: [...all, input.limit ?? -1],
  };
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
