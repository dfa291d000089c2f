const selectProcessSql = `
select p.*, s.id as session_id from processes p cross join sessions s on s.n = p.session`;
export const processByIdSql: string = `${selectProcessSql} where p.id = ?`;
/** The plus prevents SQLite from scanning all processes in the requested order. */
export const openProcessesSql: string = `${selectProcessSql} where p.state <> 'ended' order by +p.n`;
export const openProcessInSessionSql =
  "select id from processes where session = ? and state <> 'ended' order by n limit 1";
export const backgroundProcessesSql = `
select id, command from processes where session = ? and state <> 'ended' and background = 1 order by n`;
export const countOpenProcessesSql = "select count(*) as n from processes where state <> 'ended'";
/** Processes without any report or wake-up are not watched. */
export const watchedProcessesSql: string = `${selectProcessSql}
where p.background = 1 and p.told_end = 0 and p.state <> 'starting'
  and json_valid(p.watch) and (json_extract(p.watch, '$.mode') <> 'off' or json_extract(p.watch, '$.wakes')) order by p.n`;
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
export const markProcessEndReportedSql =
  "update processes set told_end = 1, told_at = max(told_at, ?) where n = ?";
