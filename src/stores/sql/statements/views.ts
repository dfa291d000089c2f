export const viewPiecesSql = `
select piece_session, from_seq, to_seq from pieces where session = ? and version = ? order by position`;
/** The pieces of this session in other sessions, in any kept version. */
export const piecesInOtherSessionsSql = `
select session, from_seq, to_seq from pieces where piece_session = ? and piece_session <> session order by from_seq`;
export const hiddenRangesSql = "select from_seq, to_seq from hidden where session = ? order by from_seq";
export const viewVersionSql = "select * from views where session = ? and version = ?";
export const nextViewVersionSql =
  "select * from views where session = ? and version > ? order by version limit 1";
export const viewVersionsSql = "select version, kind, at from views where session = ? order by version desc";
export const insertViewSql =
  "insert into views (session, version, kind, at, next_seq, redo) values (?, ?, ?, ?, ?, ?)";
/** Those up to a version, and those that ended before a time: the start of the next version is the end of one. */
export const deleteOldViewsSql = `
delete from views where session = ? and (version <= ?
  or version < (select max(version) from views where session = ? and at < ?))`;
export const insertPieceSql = `
insert into pieces (session, version, position, piece_session, from_seq, to_seq) values (?, ?, ?, ?, ?, ?)`;
/** The sessions whose messages a session shows, in any kept version. */
export const shownSessionsSql = "select distinct piece_session from pieces where session = ?";
/** The sessions that show a message of another one. */
export const sessionsShowingMessageSql = `
select s.* from pieces p join sessions s on s.n = p.session and s.version = p.version
where p.piece_session = ? and p.piece_session <> p.session and p.from_seq <= ? and p.to_seq >= ?`;
export const hiddenMessageSql = "select 1 from hidden where session = ? and from_seq <= ? and to_seq >= ?";
export const insertHiddenSql = "insert into hidden (session, from_seq, to_seq) values (?, ?, ?)";
export const clearHiddenSql = "delete from hidden where session = ?";
