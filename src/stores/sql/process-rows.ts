import type { Process, ProcessState, Watch } from "../../core/process.ts";
import type { Source } from "../../core/source.ts";
import type { Db } from "./db.ts";
import { type JsonCell, parseList, requireObject } from "./json-columns.ts";
import { processByIdSql } from "./statements/processes.ts";

export interface ProcessRow {
  n: number;
  id: string;
  session: number;
  session_id: string;
  conversation: number;
  target: string;
  command: string;
  cwd: string;
  background: number;
  pty: number;
  watch: string;
  state: ProcessState["state"];
  keeper: string | null;
  pid: number | null;
  born: string | null;
  detached: number;
  begun_at: number;
  unfinished_input: string | null;
  ended_at: number | null;
  exit_code: number | null;
  signal: string | null;
  total: number;
  match_count: number;
  match_lines: string | null;
  told_upto: number;
  told_at: number;
  told_matches: number;
  told_end: number;
  progress: number | null;
  timeout_ms: number | null;
  read_to: string | null;
}

export function findProcessRow(db: Db, id: string): ProcessRow | undefined {
  return db.get<ProcessRow>(processByIdSql, id);
}

export function toProcess(row: ProcessRow): Process {
  const cell = (column: string): JsonCell => ({ table: "processes", column, row: row.id });
  return {
    id: row.id,
    command: row.command,
    cwd: row.cwd,
    background: row.background === 1,
    pty: row.pty === 1,
    watch: requireObject<Watch>(row.watch, cell("watch")),
    ...(row.timeout_ms !== null && { timeoutMs: row.timeout_ms }),
    session: row.session_id,
    conversation: row.conversation,
    target: requireObject<Source>(row.target, cell("target")),
    begunAt: row.begun_at,
    ...(row.unfinished_input !== null && { unfinishedInput: row.unfinished_input }),
    status: toProcessState(row),
    total: row.total,
    ...(row.read_to !== null && { readTo: row.read_to }),
    matches: {
      count: row.match_count,
      lines: parseList<string>(row.match_lines) ?? [],
    },
    reported: {
      upTo: row.told_upto,
      at: row.told_at,
      matches: row.told_matches,
      end: row.told_end === 1,
      ...(row.progress !== null && { progress: row.progress }),
    },
  };
}

function toProcessState(row: ProcessRow): ProcessState {
  switch (row.state) {
    case "starting":
      return { state: "starting" };
    case "running":
      return {
        state: "running",
        pid: row.pid ?? 0,
        startTime: row.born ?? "",
        keeper: row.keeper ?? "",
        detached: row.detached === 1,
      };
    case "ended":
      return {
        state: "ended",
        at: row.ended_at ?? 0,
        exit:
          row.exit_code !== null
            ? { code: row.exit_code }
            : row.signal !== null
              ? { signal: row.signal }
              : { unknown: true, ...(row.pid === null && { neverRan: true }) },
      };
  }
}
