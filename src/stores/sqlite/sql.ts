/** Every statement that more than one step shares, or that is run for every message. */

export const beginImmediate = "begin immediate";
export const commit = "commit";
export const rollback = "rollback";
export const savepoint = "savepoint step";
export const releaseSavepoint = "release step";
export const rollbackToSavepoint = "rollback to step";

export const sessionByNumber = "select * from sessions where n = ?";
export const sessionById = "select * from sessions where id = ?";
export const readableSession =
  "select n, id, owner, audience, removed_at, next_seq, version from sessions where id = ?";
export const sessionByHandle = "select * from sessions where handle = ?";

export const insertSession = `
insert into sessions (id, kind, profile, owner, audience, title, platform, origin, display_name, cwd,
  model, provider, base_url, config, created_at, last_at, parent)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setHandle = "update sessions set handle = ? where n = ?";
export const insertProfile = "insert or ignore into profiles (name, created_at) values (?, ?)";

export const insertMessage =
  "insert into messages (id, at, role, text, parts, meta) values (?, ?, ?, ?, ?, ?)";
export const messagesBetween = `
select id, at, role, text, parts, meta from messages where id between ? and ? order by id`;
export const growSession = `
update sessions set next_seq = next_seq + ?, last_at = max(last_at, ?), human_count = human_count + ?,
  tool_call_count = tool_call_count + ? where n = ?`;
/** Grows the session and takes its lease in one statement, when it is free. */
export const growAndClaim = `
update sessions set next_seq = next_seq + ?, last_at = max(last_at, ?), human_count = human_count + ?,
  tool_call_count = tool_call_count + ?, lease_holder = ?, fence = fence + 1, origin = ?, display_name = ?,
  ended_at = null, end_reason = null
where n = ?`;
/** Grows the session and lets go of its lease in one statement. */
export const growAndRelease = `
update sessions set next_seq = next_seq + ?, last_at = max(last_at, ?), human_count = human_count + ?,
  tool_call_count = tool_call_count + ?, lease_holder = null where n = ?`;
export const takeLease = "update sessions set lease_holder = ?, fence = fence + 1 where n = ?";
export const refreshOrigin = "update sessions set origin = ?, display_name = ? where n = ?";

/** Who an account is, for every message that arrives. */
const knownAccount = `
select a.alt_id, a.person, coalesce(a.name, p.name) as name, p.role
from accounts a join people p on p.id = a.person where a.platform = ?`;
export const knownByUser: string = `${knownAccount} and a.user_id = ?`;
export const knownByAlt: string = `${knownAccount} and a.alt_id = ?`;

export const conversationByNumber = "select * from conversations where n = ?";
/** The oldest that fits wins: settings that changed later do not move a conversation. */
export const conversationOf = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ?
  and account in (0, ?)
order by n limit 1`;
/** The index has only those that have not expired; the plus keeps SQLite from beginning with the sessions. */
export const silentConversations = `
select c.*, s.id as session_id from conversations c join sessions s on s.n = c.session
where c.expired is null and c.n > ? and c.active_at < ? and +s.next_seq > 1 and +s.ended_at is null
order by c.n limit ?`;
export const limitActivity = "update conversations set active_at = ? where expired is null and active_at > ?";
/** In a direct chat there is only the one that everyone shares. */
export const conversationOfAll = `
select * from conversations
where profile = ? and platform = ? and chat_type = ? and chat_id = ? and thread_id = ? and account = 0`;
/** Every profile's: an index that begins with the profile serves this too. */
export const conversationsOf = `
select * from conversations
where profile in (select name from profiles) and platform = ? and chat_type = ? and chat_id = ? and thread_id = ?
order by n`;
export const insertConversation = `
insert into conversations (profile, platform, chat_type, chat_id, thread_id, account, person,
  groups_per_user, threads_per_user, session, active_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const setSettings = "update conversations set settings = ? where n = ?";
export const noteGiven = "update conversations set note_due = 0 where n = ?";
export const noticeGiven = "update conversations set notice_due = 0 where n = ?";
export const touchConversation = "update conversations set active_at = max(active_at, ?) where n = ?";
export const touchConversationsOf =
  "update conversations set active_at = max(active_at, ?) where session = ?";
export const pointConversation = `
update conversations set session = ?, active_at = ?, fresh_reason = ?, fresh_had_activity = ?,
  fresh_previous = ?, note_due = ?, notice_due = ?, expired = null where n = ?`;
/** Whoever closed it first said why. A conversation that has expired there does not keep it. */
export const endIfLeft = `
update sessions set ended_at = coalesce(ended_at, ?), end_reason = coalesce(end_reason, ?)
where n = ? and not exists (
  select 1 from conversations where session = sessions.n and expired is null)`;
export const reopen = "update sessions set ended_at = null, end_reason = null where n = ?";
export const activeWork = `
select exists (select 1 from turns where session = ? and state = 'running') as turn,
  exists (select 1 from inbox where conversation = ? and state = 0) as waiting,
  exists (select 1 from holds where session = ? and until > ?) as held,
  exists (select 1 from processes where session = ? and state <> 'ended' and background = 1) as process`;

/** With the profile: each is a bot of its own, and two bots in one chat see the same numbers. */
export const inboxOnce = `
select n from inbox where profile = ? and platform = ? and chat_id = ? and message_id = ?`;
export const insertInbox = `
insert into inbox (profile, platform, chat_id, message_id, conversation, at, state, runner, message, source, turn, seq)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
/** With what the conversation's turn must know, which is in the row that is read anyway. */
export const waitingInSession = `
select i.n, i.conversation, i.at, i.platform, i.runner, i.message, i.source, c.settings, c.fresh_reason, c.fresh_had_activity,
  c.fresh_previous, c.note_due, c.notice_due from conversations c
join inbox i on i.conversation = c.n and i.state = 0
where c.session = ? order by i.n`;
export const waitingMessages = `
select c.session, i.message from inbox i join conversations c on c.n = i.conversation where i.state = 0`;
export const sessionsWithWaiting = `
select s.id, i.runner, i.platform from inbox i join conversations c on c.n = i.conversation
join sessions s on s.n = c.session where i.state = 0 order by +i.n`;
/** Once claimed, the words are in the session and the target in the turn. */
export const claimInbox = `
update inbox set state = 1, turn = ?, seq = ?, message = null, source = null where n = ?`;
export const inboxDone = "update inbox set state = 2 where turn = ? and state = 1";
export const inputsOfTurn = "select seq from inbox where turn = ? and state = 1 order by seq";
export const waitingInConversation =
  "select n, message from inbox where conversation = ? and state = 0 order by n";
export const cancelInbox = `
update inbox set state = 3, message = null, source = null where n = ? and state = 0`;
export const cancelInboxOf = `
update inbox set state = 3, message = null, source = null where conversation = ? and state = 0`;
export const countWaiting =
  "select count(*) as n, max(n) as newest from inbox where conversation = ? and state = 0";
/** Of those that came when too many waited, one that came after this. */
export const refusedSince = "select 1 from inbox where conversation = ? and state = 5 and n > ? limit 1";
export const linesOn = `
select n, message_id, message, source, runner from inbox where platform = ? and state = 4 order by n`;
/** The words have done what they were to do. */
export const lineDone = "update inbox set state = 2, message = null, source = null where n = ? and state = 4";
export const arrived = `
select n, conversation, state, message from inbox
where profile = ? and platform = ? and chat_id = ? and message_id = ?`;
export const noteEdit = "update inbox set edited_at = ? where n = ?";
export const noteWithdrawal = "update inbox set withdrawn_at = ? where n = ?";
export const editWaiting = "update inbox set message = ? where n = ? and state = 0";
export const setCursor = `
insert into cursors (name, value, at) values (?, ?, ?)
on conflict (name) do update set value = excluded.value, at = excluded.at`;
export const cursorByName = "select value from cursors where name = ?";

export const insertTurn = `
insert into turns (session, conversation, runner, fence, attempt, state, target, deadline, started_at, unasked)
values (?, ?, ?, ?, 1, 'running', ?, ?, ?, ?)`;
export const turnToFinish = `
select t.*, s.next_seq, s.id as session_id, (select d.n from deliveries d where d.turn = t.n and d.state = 'draft') as draft
from turns t join sessions s on s.n = t.session where t.n = ?`;
export const turnByNumber = "select * from turns where n = ?";
export const runningTurn = "select * from turns where session = ? and state = 'running'";
export const runningTurns = `
select s.id, t.runner, coalesce(case when json_valid(t.target) then json_extract(t.target, '$.platform') end, s.platform, '') as platform from turns t join sessions s on s.n = t.session where t.state = 'running'`;
export const takeUpTurn = `
update turns set runner = ?, fence = ?, attempt = attempt + 1, deadline = ?, started_at = ? where n = ?`;
export const expireQuestionsOf = `
update approvals set answer = 'expired', answered_at = ? where session = ? and turn = ? and answer is null`;
/** What was said of the answer is a message by now, or will be none. */
export const endTurn = "update turns set state = ?, ended_at = ?, said = null where n = ?";
export const keepSaid = "update turns set said = ? where n = ? and fence = ? and state = 'running'";
/** In one statement: between two, the message may have been stored. */
export const growing = `
select s.next_seq as seq, t.said from turns t join sessions s on s.n = t.session
where t.session = ? and t.state = 'running' and t.said is not null`;
export const dropSaidIn =
  "update turns set said = null where session = ? and state = 'running' and said is not null";

export const insertDelivery = `
insert into deliveries (platform, session, turn, target, parts, reply_to, buttons, state, attempts, next_at, runner, shown,
  created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const quietDelivery = "update deliveries set quiet = 1 where n = ?";
export const deliveryByNumber = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session where d.n = ?`;
export const beginDelivery = `
update deliveries set state = 'sending', attempts = attempts + 1, runner = ? where n = ? and state = 'waiting'`;
export const settleDelivery = `
update deliveries set state = ?, next_at = ?, shown = ?, platform_message_id = ?, last_error = ?, settled_at = ?,
  failures = failures + ?, aside_at = coalesce(aside_at, ?) where n = ?`;
export const placeDelivery = "update deliveries set in_place_of = ? where n = ?";
/** The plus keeps SQLite from walking through all deliveries in the order asked for, sent ones too. */
export const deliveriesDue = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'waiting' and d.next_at <= ? and +d.n > ? order by +d.n limit ?`;
export const deliveriesDueOn = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'waiting' and d.platform = ? and d.next_at <= ? and +d.n > ? order by +d.n limit ?`;
export const deliveriesAside = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.aside_at is not null and d.settled_at is null order by d.n limit ?`;
export const deliveriesBegunOn = `
select d.*, s.id as session_id from deliveries d left join sessions s on s.n = d.session
where d.state = 'sending' and d.platform = ? order by d.n`;
/** Of the deliveries that are on their way, one that names these bytes. */
export const deliveredWith = `
select 1 from deliveries where state = 'waiting' and instr(parts, ?) > 0
union all select 1 from deliveries where state = 'sending' and instr(parts, ?) > 0 limit 1`;
export const draftOfTurn = "select n, shown from deliveries where turn = ? and state = 'draft'";
export const noteDraft = "update deliveries set shown = ? where n = ? and state = 'draft'";
export const deleteDraft = "delete from deliveries where n = ? and state = 'draft'";
/** What was shown, and under which number, stays: the last text goes where the draft is. */
export const completeDraft = `
update deliveries set platform = ?, target = ?, parts = ?, reply_to = coalesce(?, reply_to), buttons = ?, state = ?,
  attempts = ?, next_at = ?, runner = ? where n = ? and state = 'draft'`;
export const abandonDraft = `
update deliveries set state = 'dead', last_error = ?, settled_at = ? where n = ? and state = 'draft'`;

export const piecesOf = `
select piece_session, from_seq, to_seq from pieces where session = ? and version = ? order by position`;
/** What other sessions show of this one, in any version that is kept. */
export const piecesElsewhere = `
select session, from_seq, to_seq from pieces where piece_session = ? and piece_session <> session order by from_seq`;
export const hiddenOf = "select from_seq, to_seq from hidden where session = ? order by from_seq";

export const approvalPut = "update approvals set is_put = 1 where n = ?";
/** What was said last counts. */
export const allow = `
insert into allowed (person, pattern, folder, session, at, never) values (?, ?, ?, ?, ?, ?)
on conflict (person, pattern, folder, session) do update set at = excluded.at, never = excluded.never`;
/** Of always (0) and never (1), in whichever folder, the one that was not said last. */
export const dropOpposite =
  "delete from allowed where person = ? and pattern = ? and session = 0 and never = ?";
/** In every session (0) and in this one; null where nothing was said. */
export const standingOf = `
select max(never) as never from allowed where person = ? and pattern = ? and (never = 1 or folder = ?)
  and (session = 0 or session = (select n from sessions where id = ?))`;
export const standingsOf = `
select a.pattern, a.folder, s.id as session, a.at, a.never from allowed a left join sessions s on s.n = a.session
where a.person = ? order by a.at, a.pattern, a.folder, a.session`;
export const forgetStanding =
  "delete from allowed where person = ? and pattern = ? and folder = ? and session = ?";
/** What was allowed in one session goes with it. */
export const dropAllowedIn = "delete from allowed where session = ? and session > 0";

export const insertDecision = `
insert into decisions (conversation, at, decision, reason, active_at, idle_before, daily_before, from_session, to_session)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const process = `
select p.*, s.id as session_id from processes p cross join sessions s on s.n = p.session`;
export const processById: string = `${process} where p.id = ?`;
/** The plus keeps SQLite from walking through all there ever were in the order asked for. */
export const openProcesses: string = `${process} where p.state <> 'ended' order by +p.n`;
export const openProcessOf =
  "select id from processes where session = ? and state <> 'ended' order by n limit 1";
export const processesKeeping = `
select id, command from processes where session = ? and state <> 'ended' and background = 1 order by n`;
export const countOpenProcesses = "select count(*) as n from processes where state <> 'ended'";
/** Whoever wants to be told nothing, and wakes nobody, is not watched. */
export const watchedProcesses: string = `${process}
where p.background = 1 and p.told_end = 0 and p.state <> 'starting'
  and json_valid(p.watch) and (json_extract(p.watch, '$.mode') <> 'off' or json_extract(p.watch, '$.wakes')) order by p.n`;
export const insertProcess = `
insert into processes
  (id, session, conversation, target, command, cwd, background, pty, watch, timeout_ms, state, begun_at, unfinished_input)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'starting', ?, '')`;
export const processRuns = `
update processes set state = 'running', keeper = ?, pid = ?, born = ?, pty = ? where n = ?`;
export const keepOutput = `
update processes set total = ?, match_count = match_count + ?, match_lines = ?, read_to = ? where n = ?`;
export const endProcess = `
update processes set state = 'ended', ended_at = ?, exit_code = ?, signal = ? where n = ?`;
export const recordProcessInput = "update processes set unfinished_input = ? where id = ?";
export const adoptProcess = "update processes set keeper = ?, detached = ? where n = ?";
export const tellProcess = `
update processes set told_upto = ?, told_matches = ?, told_end = ?, told_at = ?
where id = ? and told_upto = ? and told_matches = ? and told_end = ?`;
export const setProgress = "update processes set progress = ? where id = ?";
export const lastChunk = `
select n, from_char, text from process_output where process = ? order by from_char desc limit 1`;
export const insertChunk = "insert into process_output (process, from_char, text) values (?, ?, ?)";
export const growChunk = "update process_output set text = ? where n = ?";
/** All before the one that holds this character: each ends where the next begins, or before. */
export const dropChunks = `
delete from process_output where process = ? and from_char < (
  select max(from_char) from process_output where process = ? and from_char <= ?)`;
/** The one that holds this character, or else the next, and those after it. */
export const chunksFrom = `
select from_char, text from process_output where process = ? and from_char >= coalesce((
  select max(from_char) from process_output where process = ? and from_char <= ?), 0) order by from_char`;
export const chunksBack =
  "select from_char, text from process_output where process = ? order by from_char desc";

export const insertBlob = "insert or ignore into blobs (hash, size, bytes) values (?, ?, ?)";
export const blobBytes = "select bytes from blobs where hash = ?";
export const blobSize = "select size from blobs where hash = ?";
export const useBlob = "insert or ignore into blob_uses (hash, session) values (?, ?)";

export const deleteUnusedBlob =
  "delete from blobs where hash = ? and not exists (select 1 from blob_uses u where u.hash = blobs.hash)";

export const unindexedSessions =
  "select n, indexed_seq, next_seq from sessions where indexed_seq < next_seq - 1 limit ?";
/** [id, role, text] of what waits for the index. */
export const waitingForIndex = "select id, role, text from messages where id between ? and ? limit ?";
export const setIndexed = "update sessions set indexed_seq = ? where n = ?";
export const insertWords = "insert into words (rowid, terms) values (?, ?)";
export const deleteWords = "insert into words (words, rowid, terms) values ('delete', ?, ?)";

export const newestMemory = "select * from memories where owner = ? order by version desc limit 1";
export const memoryVersions = "select * from memories where owner = ? order by version desc limit ?";
export const memoryVersion = "select * from memories where owner = ? and version = ?";
export const memoryOwners =
  "select distinct owner from memories where owner > ? and owner < ? order by owner";
export const insertMemory = "insert into memories (owner, version, at, entries) values (?, ?, ?, ?)";
export const eraseMemories = "delete from memories where owner = ?";
export const dropOldMemories = "delete from memories where owner = ? and version <= ?";

/** What a session used, by quarter of an hour, purpose and model. */
export const usageOf = "select * from usage where session = ? order by at, purpose, provider, model";
export const usageRow = `
select * from usage where session = ? and at = ? and purpose = ? and provider = ? and model = ?`;
export const setUsageRow = `
insert or replace into usage (session, at, purpose, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, cost_usd, cost_status, cost_source)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
export const deleteUsageOf = "delete from usage where session = ?";
/** The sums of these rows, and what only the newest answer tells. */
export const setCounters = `
update sessions set input_tokens = ?, output_tokens = ?, cache_read_tokens = ?, cache_write_tokens = ?,
  reasoning_tokens = ?, last_prompt_tokens = ?, cost_usd = ?, cost_status = ?, cost_source = ?, model = ?,
  provider = ?, base_url = ? where n = ?`;

export const setFlushed = "update sessions set flushed_seq = ? where n = ?";
export const insertFlush = "insert into flushes (session, up_to, asked_at) values (?, ?, ?)";
const flush = `
select f.*, s.id as session_id, s.owner, s.audience, s.profile, s.removed_at from flushes f join sessions s on s.n = f.session`;
export const openFlushes: string = `${flush} where f.done_at is null order by f.n`;
export const flushByNumber: string = `${flush} where f.n = ?`;
export const beginFlush = "update flushes set runner = ?, attempts = attempts + 1 where n = ?";
export const endFlush = "update flushes set done_at = ? where n = ?";

export const processToTell =
  "select n, session, conversation, target, state, told_end from processes where id = ?";
export const endTold = "update processes set told_end = 1, told_at = max(told_at, ?) where n = ?";
