import type { Statement } from "../db.ts";

export const insertTurnSql = `
insert into turns (session, conversation, runner, fence, attempt, state, target, deadline, started_at, unasked)
values (?, ?, ?, ?, 1, 'running', ?, ?, ?, ?)`;
export const turnToFinishSql = `
select t.*, s.next_seq, s.id as session_id, (select d.n from deliveries d where d.turn = t.n and d.state = 'draft') as draft
from turns t join sessions s on s.n = t.session where t.n = ?`;
export const turnByNumberSql = "select * from turns where n = ?";
export const runningTurnSql = "select * from turns where session = ? and state = 'running'";
export const runningTurnsSql: Statement = (dialect) => `
select s.id, t.runner,
  coalesce(case when ${dialect.isJson("t.target")} then ${dialect.jsonText("t.target", "platform")} end, s.platform, '')
    as platform
from turns t join sessions s on s.n = t.session where t.state = 'running'`;
/** The newest first. */
export const turnsInSessionSql = "select * from turns where session = ? order by n desc limit ?";
export const rerunTurnSql = `
update turns set runner = ?, fence = ?, attempt = attempt + 1, deadline = ?, started_at = ? where n = ?`;
export const requestStopSql = `
update turns set stop_at = coalesce(stop_at, ?) where session = ? and state = 'running' and conversation = ?`;
export const stopRequestsSql =
  "select n from turns where state = 'running' and runner = ? and stop_at is not null order by n";
/** The draft of the answer is a message by now, or is dropped. */
export const endTurnSql = "update turns set state = ?, ended_at = ?, said = null where n = ?";
export const saveTurnDraftSql = "update turns set said = ? where n = ? and fence = ? and state = 'running'";
/** In one statement: between two, the message could be stored. */
export const turnDraftSql = `
select s.next_seq as seq, t.said from turns t join sessions s on s.n = t.session
where t.session = ? and t.state = 'running' and t.said is not null`;
export const clearTurnDraftSql =
  "update turns set said = null where session = ? and state = 'running' and said is not null";
