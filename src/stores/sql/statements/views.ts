export const viewPiecesSql = `
select piece_session, from_seq, to_seq from pieces where session = ? and version = ? order by position`;
/** The pieces of this session in other sessions, in any kept version. */
export const piecesInOtherSessionsSql = `
select session, from_seq, to_seq from pieces where piece_session = ? and piece_session <> session order by from_seq`;
export const hiddenRangesSql = "select from_seq, to_seq from hidden where session = ? order by from_seq";
