// The rules for the query plans of the operations, on every engine.

/** Tables that grow with use. A scan of one of them gets slower and slower. */
export const GROWING: readonly string[] = [
  "accounts",
  "allowed",
  "approvals",
  "blobs",
  "blob_uses",
  "conversations",
  "decisions",
  "deliveries",
  "flushes",
  "inbox",
  "memories",
  "messages",
  "people",
  "pieces",
  "process_output",
  "processes",
  "sessions",
  "turns",
  "views",
];

/** Partial indexes of pending, running or orphaned rows: few rows at any time, so a scan is fine. */
export const FEW: readonly string[] = [
  "approvals_open",
  "deliveries_aside",
  "deliveries_due",
  "deliveries_sending",
  "flushes_open",
  "inbox_lines",
  "inbox_waiting",
  "processes_open",
  "processes_watched",
  "sessions_removed",
  "sessions_unindexed",
  "turns_running",
];

/** Statements that may scan a whole table, and the reason. */
export const ALLOWED_SCANS: readonly { readonly statement: RegExp; readonly why: string }[] = [
  {
    statement: /from conversations where account = \?/,
    why: "two accounts are merged: once in an account's life",
  },
  { statement: /update (conversations|approvals) set person = \? where person = \?/, why: "the same" },
  {
    statement: /^update conversations set active_at = \? where expired is null/,
    why: "once an hour",
  },
  {
    statement: /^update sessions set indexed_seq = 0 where indexed_seq > 0$/,
    why: "the whole index is filled again: for a repair, or after a large history was erased",
  },
  {
    statement: /^select \* from sessions where n in \(select s\.n from sessions s where true and/,
    why: "everyone's list, for the operator, in the thread of long reads",
  },
  {
    statement: /^select (count|s\.platform|s\.kind|s\.owner).*\s+from sessions s where true and/,
    why: "everyone's numbers, for the operator, in the thread of long reads",
  },
  {
    statement: /^select s\.\* from sessions s where s\.title is not null and s\.removed_at is null and true$/,
    why: "everyone's titles, for the operator",
  },
  {
    statement: /^select 1 from sessions s where true and s\.removed_at is null and s\.id <> \? limit 1$/,
    why: "everyone's sessions: the first or the second row is the answer",
  },
  {
    statement: /^select \* from decisions where from_session = \? or to_session = \?/,
    why: "the decisions about a session: only for people, in the thread of long reads",
  },
  { statement: /^select \* from inbox where seq = \? and turn in/, why: "the origin of a message: the same" },
  {
    statement: /in \(\s*select s\.n from sessions s where true\s+union select p\.piece_session/,
    why: "everyone's search, for the operator, in the thread of long reads: every session is allowed",
  },
  {
    statement:
      /^select \* from \(\s+select t\.\*, case when t\.session in \(select n from sessions where owner = \?\) then 1 else 0 end as owned from (turns|deliveries|processes) t\s+\) as marked where owned = 1/,
    why: "all data of a person: needed once in their life",
  },
  { statement: /^select \* from conversations where person = \? or account in/, why: "the same" },
  { statement: /^select i\.\* from inbox i where i\.conversation in/, why: "the same" },
  {
    statement: /^select n, origin from sessions where origin is not null$/,
    why: "the same, at the end of an erasure",
  },
  {
    statement: /^delete from inbox where conversation = \?$/,
    why: "the same: a person has few conversations",
  },
  {
    statement: /^select a\.\*, s\.id as session_id from approvals a .* order by a\.n$/,
    why: "the same: approval requests to the person and because of them",
  },
  {
    statement: /^select s\.\* from sessions s where true and s\.removed_at is null and s\.last_at >= \?/,
    why: "everyone's numbers, for the operator, in the thread of long reads",
  },
];
