import type { Statement } from "../db.ts";
import type { Dialect } from "../dialect.ts";

/** The process first: a person may have thousands of sessions. */
function buildProcessSelect({ joinInOrder }: Dialect): string {
  return `select p.*, s.id as session_id from processes p ${joinInOrder} sessions s on s.n = p.session`;
}
export const processByIdSql: Statement = (dialect) => `${buildProcessSelect(dialect)} where p.id = ?`;
/** The plus prevents SQLite from scanning all processes in the requested order. */
export const openProcessesSql: Statement = (dialect) =>
  `${buildProcessSelect(dialect)} where p.state <> 'ended' order by +p.n`;
export const openProcessInSessionSql =
  "select id from processes where session = ? and state <> 'ended' order by n limit 1";
export const backgroundProcessesSql = `
select id, command from processes where session = ? and state <> 'ended' and background = 1 order by n`;
export const countOpenProcessesSql = "select count(*) as n from processes where state <> 'ended'";
/** Processes without any report or wake-up are not watched. */
export const watchedProcessesSql: Statement = (dialect) => `
${buildProcessSelect(dialect)}
where p.background = 1 and p.told_end = 0 and p.state <> 'starting' and case when ${dialect.isJson("p.watch")}
  then ${dialect.jsonText("p.watch", "mode")} <> 'off' or ${dialect.isJsonTrue("p.watch", "wakes")} else false end
order by p.n`;
/** What a list of processes can be narrowed to. */
export const PROCESS_CONDITIONS = {
  inKeptSession: "s.removed_at is null",
  session: "p.session = (select n from sessions where id = ?)",
  conversation: "p.conversation = ?",
  background: "p.background = 1",
} as const;
/**
 * The newest first. Running processes are found by an index on open rows, ended ones by their end: neither scans all rows.
 * With ended processes, a time and the values of the conditions follow once more.
 */
export function buildProcessListSql(
  dialect: Dialect,
  conditions: readonly string[],
  withEnded: boolean,
): string {
  const select = buildProcessSelect(dialect);
  const shared = conditions.join(" and ");
  const open = `${select} where p.state <> 'ended' and ${shared}`;
  const ended = `${select} where p.ended_at is not null and p.ended_at >= ? and ${shared}`;
  return `select * from (${withEnded ? `${open} union all ${ended}` : open}) as listed order by +n desc limit ?`;
}
export const insertProcessSql = `
insert into processes
  (id, session, conversation, target, command, cwd, background, pty, watch, timeout_ms, state, begun_at, unfinished_input)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'starting', ?, '')`;
export const markProcessRunningSql = `
update processes set state = 'running', keeper = ?, pid = ?, born = ?, pty = ? where n = ?`;
export const recordProcessOutputSql = `
update processes set total = ?, match_count = match_count + ?, match_lines = ?, read_to = ? where n = ?`;
export const endProcessSql = `
update processes set state = 'ended', ended_at = ?, exit_code = ?, signal = ? where n = ?`;
export const recordProcessInputSql = "update processes set unfinished_input = ? where id = ?";
export const adoptProcessSql = "update processes set keeper = ?, detached = ? where n = ?";
export const markProcessReportedSql = `
update processes set told_upto = ?, told_matches = ?, told_end = ?, told_at = ?
where id = ? and told_upto = ? and told_matches = ? and told_end = ?`;
export const setProcessProgressSql = "update processes set progress = ? where id = ?";
export const lastChunkSql = `
select n, from_char, text, utf16 from process_output where process = ? order by from_char desc limit 1`;
export const insertChunkSql =
  "insert into process_output (process, from_char, text, utf16) values (?, ?, ?, ?)";
export const growChunkSql = "update process_output set text = ?, utf16 = ? where n = ?";
/** All chunks before the one with this character: each ends where the next starts, or before. */
export const deleteOldChunksSql = `
delete from process_output where process = ? and from_char < (
  select max(from_char) from process_output where process = ? and from_char <= ?)`;
/** The chunk with this character, or else the next, and those after it. */
export const chunksFromSql = `
select n, from_char, text, utf16 from process_output where process = ? and from_char >= coalesce((
  select max(from_char) from process_output where process = ? and from_char <= ?), 0) order by from_char`;
export const chunksBackwardsSql =
  "select n, from_char, text, utf16 from process_output where process = ? order by from_char desc";
export const processToReportSql =
  "select n, session, conversation, target, state, told_end from processes where id = ?";
export const markProcessEndReportedSql: Statement = (dialect) => `
update processes set told_end = 1, told_at = ${dialect.greatest("told_at", "?")} where n = ?`;
