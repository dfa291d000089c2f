/** Statements that several steps share, or that run for every message. */

/** Takes its snapshot with the first statement after it. */
export const beginReadSql = "begin deferred";
export const beginImmediateSql = "begin immediate";
export const commitSql = "commit";
export const rollbackSql = "rollback";
export const savepointSql = "savepoint step";
export const releaseSavepointSql = "release step";
export const rollbackToSavepointSql = "rollback to step";

export const sessionByNumberSql = "select * from sessions where n = ?";
export const sessionByIdSql = "select * from sessions where id = ?";
export const readableSessionSql =
  "select n, id, owner, audience, removed_at, next_seq, version from sessions where id = ?";
export const sessionByHandleSql = "select * from sessions where handle = ?";

export const insertSessionSql = `
insert into sessions (id, kind, profile, owner, audience, title, platform, origin, display_name, cwd,
  model, provider, base_url, config, created_at, last_at, parent)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setHandleSql = "update sessions set handle = ? where n = ?";
export const insertProfileSql = "insert or ignore into profiles (name, created_at) values (?, ?)";

export const insertMessageSql =
  "insert into messages (id, at, role, text, parts, meta) values (?, ?, ?, ?, ?, ?)";
export const messagesBetweenSql = `
select id, at, role, text, parts, meta from messages where id between ? and ? order by id`;
export const growSessionSql = `
update sessions set next_seq = next_seq + ?, last_at = max(last_at, ?), human_count = human_count + ?,
  tool_call_count = tool_call_count + ? where n = ?`;
/** Grows the session and takes its lease in one statement, if it is free. */
export const growAndClaimSessionSql = `
update sessions set next_seq = next_seq + ?, last_at = max(last_at, ?), human_count = human_count + ?,
  tool_call_count = tool_call_count + ?, lease_holder = ?, fence = fence + 1, origin = ?, display_name = ?,
  ended_at = null, end_reason = null
where n = ?`;
/** Grows the session and releases its lease in one statement. */
export const growAndReleaseSessionSql = `
update sessions set next_seq = next_seq + ?, last_at = max(last_at, ?), human_count = human_count + ?,
  tool_call_count = tool_call_count + ?, lease_holder = null where n = ?`;
export const takeSessionLeaseSql = "update sessions set lease_holder = ?, fence = fence + 1 where n = ?";
export const setOriginSql = "update sessions set origin = ?, display_name = ? where n = ?";

/** The person of an account, for every inbound message. */
const personByAccountSql = `
select a.alt_id, a.person, coalesce(a.name, p.name) as name, p.role
from accounts a join people p on p.id = a.person where a.platform = ?`;
export const personByUserIdSql: string = `${personByAccountSql} and a.user_id = ?`;
export const personByAltIdSql: string = `${personByAccountSql} and a.alt_id = ?`;

export const conversationByNumberSql = "select * from conversations where n = ?";
/** The oldest match wins: settings that changed later do not move a conversation. */
export const conversationByIdentitySql = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ?
  and account in (0, ?)
order by n limit 1`;
/**
 * The index contains only conversations that have not expired; the plus prevents SQLite from starting with the sessions.
 */
export const idleConversationsSql = `
select c.*, s.id as session_id from conversations c join sessions s on s.n = c.session
where c.expired is null and c.n > ? and c.active_at < ? and +s.next_seq > 1 and +s.ended_at is null
order by c.n limit ?`;
export const clampActivitySql =
  "update conversations set active_at = ? where expired is null and active_at > ?";
/** A direct chat has only the shared conversation. */
export const sharedConversationSql = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ? and account = 0`;
/** Of all profiles: an index that starts with the profile serves this, too. */
export const conversationsInChatSql = `
select * from conversations
where profile in (select name from profiles) and platform = ? and chat_type = ? and chat_id = ? and thread_id = ?
order by n`;
export const insertConversationSql = `
insert into conversations (profile, platform, chat_type, chat_id, thread_id, account, person,
  groups_per_user, threads_per_user, session, active_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setSettingsSql = "update conversations set settings = ? where n = ?";
export const clearNoteDueSql = "update conversations set note_due = 0 where n = ?";
export const clearNoticeDueSql = "update conversations set notice_due = 0 where n = ?";
export const touchConversationSql = "update conversations set active_at = max(active_at, ?) where n = ?";
export const touchSessionConversationsSql =
  "update conversations set active_at = max(active_at, ?) where session = ?";
export const pointConversationSql = `
update conversations set session = ?, active_at = ?, fresh_reason = ?, fresh_had_activity = ?,
  fresh_previous = ?, note_due = ?, notice_due = ?, expired = null where n = ?`;
/** The first reason to end a session stays. An expired conversation does not keep it open. */
export const endUnreferencedSessionSql = `
update sessions set ended_at = coalesce(ended_at, ?), end_reason = coalesce(end_reason, ?)
where n = ? and not exists (
  select 1 from conversations where session = sessions.n and expired is null)`;
export const reopenSessionSql = "update sessions set ended_at = null, end_reason = null where n = ?";
export const activeWorkSql = `
select exists (select 1 from turns where session = ? and state = 'running') as turn,
  exists (select 1 from inbox where conversation = ? and state = 0) as waiting,
  exists (select 1 from holds where session = ? and until > ?) as held,
  exists (select 1 from processes where session = ? and state <> 'ended' and background = 1) as process`;

/** With the profile: each profile is a separate bot, and two bots in one chat see the same message ids. */
export const inboxNumberByMessageIdSql = `
select n from inbox where profile = ? and platform = ? and chat_id = ? and message_id = ?`;
export const insertInboxSql = `
insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, runner, message, source, turn, seq)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
/** With the columns that a turn needs, from rows that are read anyway. */
export const pendingInSessionSql = `
select i.n, i.conversation, i.at, i.platform, i.runner, i.message, i.source, c.settings, c.fresh_reason, c.fresh_had_activity,
  c.fresh_previous, c.note_due, c.notice_due from conversations c
join inbox i on i.conversation = c.n and i.state = 0
where c.session = ? order by i.n`;
export const pendingMessagesSql = `
select c.session, i.message from inbox i join conversations c on c.n = i.conversation where i.state = 0`;
export const sessionsWithPendingSql = `
select s.id, i.runner, i.platform from inbox i join conversations c on c.n = i.conversation
join sessions s on s.n = c.session where i.state = 0 order by +i.n`;
/** After the claim, the session has the text and the turn has the target. */
export const claimInboxSql = `
update inbox set state = 1, turn = ?, seq = ?, message = null, source = null where n = ?`;
export const finishInboxSql = "update inbox set state = 2 where turn = ? and state = 1";
export const turnInputsSql = "select seq from inbox where turn = ? and state = 1 order by seq";
export const pendingInConversationSql =
  "select n, message from inbox where conversation = ? and state = 0 order by n";
export const cancelInboxSql = `
update inbox set state = 3, message = null, source = null where n = ? and state = 0`;
export const cancelConversationInboxSql = `
update inbox set state = 3, message = null, source = null where conversation = ? and state = 0`;
export const countPendingSql =
  "select count(*) as n, max(n) as newest from inbox where conversation = ? and state = 0";
/** A message that was refused because of a full queue after this one. */
export const refusedSinceSql = "select 1 from inbox where conversation = ? and state = 5 and n > ? limit 1";
export const unansweredCommandsSql = `
select n, message_id, message, source, runner from inbox where platform = ? and state = 4 order by n`;
/** The text is no longer needed. */
export const finishCommandSql =
  "update inbox set state = 2, message = null, source = null where n = ? and state = 4";
export const inboxByMessageIdSql = `
select n, conversation, state, message from inbox
where profile = ? and platform = ? and chat_id = ? and message_id = ?`;
export const recordEditSql = "update inbox set edited_at = ? where n = ?";
export const recordWithdrawalSql = "update inbox set withdrawn_at = ? where n = ?";
export const editPendingSql = "update inbox set message = ? where n = ? and state = 0";
export const setCursorSql = `
insert into cursors (name, value, at) values (?, ?, ?)
on conflict (name) do update set value = excluded.value, at = excluded.at`;
export const cursorByNameSql = "select value from cursors where name = ?";

export const insertTurnSql = `
insert into turns (session, conversation, runner, fence, attempt, state, target, deadline, started_at, unasked)
values (?, ?, ?, ?, 1, 'running', ?, ?, ?, ?)`;
export const turnToFinishSql = `
select t.*, s.next_seq, s.id as session_id, (select d.n from deliveries d where d.turn = t.n and d.state = 'draft') as draft
from turns t join sessions s on s.n = t.session where t.n = ?`;
export const turnByNumberSql = "select * from turns where n = ?";
export const runningTurnSql = "select * from turns where session = ? and state = 'running'";
export const runningTurnsSql = `
select s.id, t.runner, coalesce(case when json_valid(t.target) then json_extract(t.target, '$.platform') end, s.platform, '') as platform from turns t join sessions s on s.n = t.session where t.state = 'running'`;
export const rerunTurnSql = `
update turns set runner = ?, fence = ?, attempt = attempt + 1, deadline = ?, started_at = ? where n = ?`;
export const expireTurnApprovalsSql = `
update approvals set answer = 'expired', answered_at = ? where session = ? and turn = ? and answer is null`;
/** The draft of the answer is a message by now, or is dropped. */
export const endTurnSql = "update turns set state = ?, ended_at = ?, said = null where n = ?";
export const saveTurnDraftSql = "update turns set said = ? where n = ? and fence = ? and state = 'running'";
/** In one statement: between two, the message could be stored. */
export const turnDraftSql = `
select s.next_seq as seq, t.said from turns t join sessions s on s.n = t.session
where t.session = ? and t.state = 'running' and t.said is not null`;
export const clearTurnDraftSql =
  "update turns set said = null where session = ? and state = 'running' and said is not null";

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
/** The plus prevents SQLite from scanning all deliveries, also the sent ones, in the requested order. */
export const dueDeliveriesSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'waiting' and d.next_at <= ? and +d.n > ? order by +d.n limit ?`;
export const dueDeliveriesOnPlatformSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'waiting' and d.platform = ? and d.next_at <= ? and +d.n > ? order by +d.n limit ?`;
export const deferredDeliveriesSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.aside_at is not null and d.settled_at is null order by d.n limit ?`;
export const sendingDeliveriesSql = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'sending' and d.platform = ? order by d.n`;
/** A pending delivery that refers to this blob. */
export const deliveryUsingBlobSql = `
select 1 from deliveries where state = 'waiting' and instr(parts, ?) > 0
union all select 1 from deliveries where state = 'sending' and instr(parts, ?) > 0 limit 1`;
export const draftByTurnSql = "select n, shown from deliveries where turn = ? and state = 'draft'";
export const setDraftShownSql = "update deliveries set shown = ? where n = ? and state = 'draft'";
export const deleteDraftSql = "delete from deliveries where n = ? and state = 'draft'";
/** The shown message and the number stay: the final text replaces the draft. */
export const completeDraftSql = `
update deliveries set platform = ?, target = ?, parts = ?, reply_to = coalesce(?, reply_to), buttons = ?, state = ?,
  attempts = ?, next_at = ?, runner = ? where n = ? and state = 'draft'`;
export const abandonDraftSql = `
update deliveries set state = 'dead', last_error = ?, settled_at = ? where n = ? and state = 'draft'`;

export const viewPiecesSql = `
select piece_session, from_seq, to_seq from pieces where session = ? and version = ? order by position`;
/** The pieces of this session in other sessions, in any kept version. */
export const piecesInOtherSessionsSql = `
select session, from_seq, to_seq from pieces where piece_session = ? and piece_session <> session order by from_seq`;
export const hiddenRangesSql = "select from_seq, to_seq from hidden where session = ? order by from_seq";

export const markApprovalSentSql = "update approvals set is_put = 1 where n = ?";
/** The last answer counts. */
export const upsertApprovalRuleSql = `
insert into allowed (person, pattern, folder, session, at, never) values (?, ?, ?, ?, ?, ?)
on conflict (person, pattern, folder, session) do update set at = excluded.at, never = excluded.never`;
/** Of always (0) and never (1), in any folder, the older one. */
export const deleteOppositeApprovalRuleSql =
  "delete from allowed where person = ? and pattern = ? and session = 0 and never = ?";
/** In every session (0) and in this one; null without a rule. */
export const approvalRuleSql = `
select max(never) as never from allowed where person = ? and pattern = ? and (never = 1 or folder = ?)
  and (session = 0 or session = (select n from sessions where id = ?))`;
export const approvalRulesSql = `
select a.pattern, a.folder, s.id as session, a.at, a.never from allowed a left join sessions s on s.n = a.session
where a.person = ? order by a.at, a.pattern, a.folder, a.session`;
export const deleteApprovalRuleSql =
  "delete from allowed where person = ? and pattern = ? and folder = ? and session = ?";
/** Deletes the permissions of one session with it. */
export const deleteSessionApprovalRulesSql = "delete from allowed where session = ? and session > 0";

export const insertDecisionSql = `
insert into decisions (conversation, at, decision, reason, active_at, idle_before, daily_before, from_session, to_session)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

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
select n, from_char, text from process_output where process = ? order by from_char desc limit 1`;
export const insertChunkSql = "insert into process_output (process, from_char, text) values (?, ?, ?)";
export const growChunkSql = "update process_output set text = ? where n = ?";
/** All chunks before the one with this character: each ends where the next starts, or before. */
export const deleteOldChunksSql = `
delete from process_output where process = ? and from_char < (
  select max(from_char) from process_output where process = ? and from_char <= ?)`;
/** The chunk with this character, or else the next, and those after it. */
export const chunksFromSql = `
select from_char, text from process_output where process = ? and from_char >= coalesce((
  select max(from_char) from process_output where process = ? and from_char <= ?), 0) order by from_char`;
export const chunksBackwardsSql =
  "select from_char, text from process_output where process = ? order by from_char desc";

export const insertBlobSql = "insert or ignore into blobs (hash, size, bytes) values (?, ?, ?)";
export const blobBytesSql = "select bytes from blobs where hash = ?";
export const blobSizeSql = "select size from blobs where hash = ?";
export const insertBlobUseSql = "insert or ignore into blob_uses (hash, session) values (?, ?)";

export const deleteUnusedBlobSql =
  "delete from blobs where hash = ? and not exists (select 1 from blob_uses u where u.hash = blobs.hash)";

export const unindexedSessionsSql =
  "select n, indexed_seq, next_seq from sessions where indexed_seq < next_seq - 1 limit ?";
/** [id, role, text] of messages that are not indexed. */
export const unindexedMessagesSql = "select id, role, text from messages where id between ? and ? limit ?";
export const setIndexedSeqSql = "update sessions set indexed_seq = ? where n = ?";
export const insertWordsSql = "insert into words (rowid, terms) values (?, ?)";
export const deleteWordsSql = "insert into words (words, rowid, terms) values ('delete', ?, ?)";

export const newestMemorySql = "select * from memories where owner = ? order by version desc limit 1";
export const memoryVersionsSql = "select * from memories where owner = ? order by version desc limit ?";
export const memoryVersionSql = "select * from memories where owner = ? and version = ?";
export const memoryOwnersSql =
  "select distinct owner from memories where owner > ? and owner < ? order by owner";
export const insertMemorySql = "insert into memories (owner, version, at, entries) values (?, ?, ?, ?)";
export const deleteMemoriesSql = "delete from memories where owner = ?";
export const deleteOldMemoriesSql = "delete from memories where owner = ? and version <= ?";

/** The usage of a session, by quarter of an hour, purpose and model. */
export const sessionUsageSql = "select * from usage where session = ? order by at, purpose, provider, model";
export const usageRowSql = `
select * from usage where session = ? and at = ? and purpose = ? and provider = ? and model = ?`;
export const setUsageRowSql = `
insert or replace into usage (session, at, purpose, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, cost_usd, cost_status, cost_source)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const deleteSessionUsageSql = "delete from usage where session = ?";
/** The sums of these rows, and the values of the newest answer. */
export const setCountersSql = `
update sessions set input_tokens = ?, output_tokens = ?, cache_read_tokens = ?, cache_write_tokens = ?,
  reasoning_tokens = ?, last_prompt_tokens = ?, cost_usd = ?, cost_status = ?, cost_source = ?, model = ?,
  provider = ?, base_url = ? where n = ?`;

export const setFlushedSeqSql = "update sessions set flushed_seq = ? where n = ?";
export const insertFlushSql = "insert into flushes (session, up_to, asked_at) values (?, ?, ?)";
const selectFlushSql = `
select f.*, s.id as session_id, s.owner, s.audience, s.profile, s.removed_at from flushes f join sessions s on s.n = f.session`;
export const openFlushesSql: string = `${selectFlushSql} where f.done_at is null order by f.n`;
export const flushByNumberSql: string = `${selectFlushSql} where f.n = ?`;
export const claimFlushSql = "update flushes set runner = ?, attempts = attempts + 1 where n = ?";
export const finishFlushSql = "update flushes set done_at = ? where n = ?";

export const processToReportSql =
  "select n, session, conversation, target, state, told_end from processes where id = ?";
export const markProcessEndReportedSql =
  "update processes set told_end = 1, told_at = max(told_at, ?) where n = ?";
