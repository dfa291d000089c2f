import type { Statement } from "../db.ts";

/** The first rows before a time, up to a limit. */
export const settledDeliveriesSql = `
select n from deliveries where settled_at is not null and settled_at < ? order by settled_at limit ?`;
export const finishedInboxSql = `
select n, turn, seq from inbox where at < ? and state not in (0, 1, 4) order by at, n limit ?`;
export const endedTurnsSql = `
select n from turns where ended_at is not null and ended_at < ? order by ended_at limit ?`;
export const expiredPairingsSql = "select n from pairings where expires_at < ? limit ?";
export const expiredGuessesSql: Statement = (dialect) => `
select name as n from guesses where ${dialect.greatest("at", "locked_until")} < ? limit ?`;
export const answeredApprovalsSql = `
select n from approvals where answered_at is not null and answered_at < ? order by answered_at limit ?`;
export const expiredApprovalsSql = "select n from approvals where answer is null and deadline < ? limit ?";
export const finishedFlushesSql = `
select n from flushes where done_at is not null and done_at < ? order by done_at limit ?`;
export const endedProcessesSql = `
select n from processes where ended_at is not null and ended_at < ? order by ended_at limit ?`;
