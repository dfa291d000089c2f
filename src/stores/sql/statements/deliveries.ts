import type { Statement } from "../db.ts";

export const insertDeliverySql = `
insert into deliveries (platform, session, turn, target, parts, reply_to, buttons, state, attempts, next_at, runner, shown,
  created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setDeliveryQuietSql = "update deliveries set quiet = 1 where n = ?";
export const deliveryByNumberSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session where d.n = ?`;
export const beginDeliverySql = `
update deliveries set state = 'sending', attempts = attempts + 1, runner = ? where n = ? and state = 'waiting'`;
export const settleDeliverySql = `
update deliveries set state = ?, next_at = ?, shown = ?, platform_message_id = ?, last_error = ?, settled_at = ?,
  failures = failures + ?, aside_at = coalesce(aside_at, ?) where n = ?`;
export const setReplacedDeliverySql = "update deliveries set in_place_of = ? where n = ?";
/**
 * Only the numbers, which the index of pending deliveries contains. The plus prevents SQLite from scanning all deliveries,
 * also the sent ones, in the requested order.
 */
export const dueDeliveryNumbersSql =
  "select n from deliveries where state = 'waiting' and next_at <= ? order by +n limit ?";
export const dueDeliveryNumbersOnPlatformSql =
  "select n from deliveries where state = 'waiting' and platform = ? and next_at <= ? order by +n limit ?";
/** Of 50 numbers; 0 is none. */
export const pendingDeliveriesByNumberSql: string = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'waiting' and d.n in (${Array(50).fill("?").join(", ")}) order by d.n`;
export const deferredDeliveriesSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.aside_at is not null and d.settled_at is null order by d.n limit ?`;
export const sendingDeliveriesSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'sending' and d.platform = ? order by d.n`;
/** A pending delivery that refers to this blob. */
export const deliveryUsingBlobSql: Statement = (dialect) => `
select 1 from deliveries where state = 'waiting' and ${dialect.contains("parts", "?")}
union all select 1 from deliveries where state = 'sending' and ${dialect.contains("parts", "?")} limit 1`;
/** The newest first. */
export const deliveriesInSessionSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.session = ? order by d.n desc limit ?`;
export const draftByTurnSql = "select n, shown from deliveries where turn = ? and state = 'draft'";
export const setDraftShownSql = "update deliveries set shown = ? where n = ? and state = 'draft'";
export const deleteDraftSql = "delete from deliveries where n = ? and state = 'draft'";
/** The shown message and the number stay: the final text replaces the draft. */
export const completeDraftSql = `
update deliveries set platform = ?, target = ?, parts = ?, reply_to = coalesce(?, reply_to), buttons = ?, state = ?,
  attempts = ?, next_at = ?, runner = ? where n = ? and state = 'draft'`;
export const abandonDraftSql = `
update deliveries set state = 'dead', last_error = ?, settled_at = ? where n = ? and state = 'draft'`;
