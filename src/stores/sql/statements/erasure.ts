import { ROLES } from "../../../core/message.ts";

/** Statements that only the erasure of a person needs. */
const USER = ROLES.indexOf("user");
const NOTE = ROLES.indexOf("note");

/** In order: the next step continues with the same session. */
export const sessionByOwnerSql = "select * from sessions where owner = ? order by n limit 1";
export const countIndexedSql =
  "select cast(coalesce(sum(indexed_seq), 0) as bigint) as n from sessions where owner = ?";
export const messageIdsAfterSql = "select id from messages where id > ? order by id limit ?";
export const messageIdsBetweenSql = "select id from messages where id between ? and ? order by id limit ?";
/** Pieces of the session in views of other sessions. */
export const deletePiecesElsewhereSql =
  "delete from pieces where piece_session = ? and piece_session <> session";
export const blankSessionSql = `
update sessions set removed_at = coalesce(removed_at, ?), title = null, origin = null, display_name = null,
  cwd = null, config = null, lease_holder = null where n = ?`;
export const firstUserMessageSql: string = `
select id from messages where id between ? and ? and role = ${USER} order by id limit 1`;
export const notesBetweenSql: string = `
select id, meta from messages where id between ? and ? and role = ${NOTE} order by id`;
export const blankMessageSql = "update messages set text = null, parts = null, meta = ? where id = ?";
export const subtractToolCallsSql = "update sessions set tool_call_count = tool_call_count - ? where n = ?";
export const cancelTurnInboxSql = "update inbox set state = 3 where turn = ? and state = 1";
export const clearLeaseSql = "update sessions set lease_holder = null where n = ?";
export const setTurnTargetSql = "update turns set target = ? where n = ?";
export const sessionOriginsSql = "select n, origin from sessions where origin is not null";
export const replaceOriginSql = "update sessions set origin = ? where n = ?";
