/** Marks the file as a database of Postrider: "Post" in ASCII. */
export const APPLICATION_ID = 0x506f7374;
/** Marks an unfinished copy of another store, so that no version of Postrider opens it: "Posc". */
export const UNFINISHED_COPY_ID = 0x506f7363;

/**
 * One entry per schema version, in order; never edited after release. Version 1 is the first.
 *
 * messages.id = session number · 2^24 + seq, so that the messages of a session are adjacent and a history is one range
 * scan. Missing parts of an identity are '' or 0, because NULLs are distinct in a unique index.
 * Queries must repeat predicates of partial indexes exactly, or SQLite scans.
 *
 * words is contentless without contentless_delete, on purpose: with it, a deleted word stays in the file until segments
 * merge, while the 'delete' command under secure-delete removes it at once. That command needs exactly the inserted terms,
 * so a change of core/search-terms is a migration that rebuilds this table.
 */
export const MIGRATIONS: readonly string[] = [
  `
create table profiles (name text primary key, created_at integer not null) without rowid;

create table people (
  id text primary key,
  name text,
  created_at integer not null
) without rowid;

create table accounts (
  n integer primary key autoincrement,
  platform text not null,
  user_id text,
  alt_id text,
  person text not null references people(id),
  name text,
  created_at integer not null,
  check (user_id is not null or alt_id is not null)
);
create unique index accounts_by_user on accounts(platform, user_id) where user_id is not null;
create unique index accounts_by_alt on accounts(platform, alt_id) where alt_id is not null;

create table sessions (
  n integer primary key autoincrement check (n < 536870912),
  id text not null unique,
  handle text unique,
  kind text not null,
  profile text not null references profiles(name),
  owner text not null,
  audience text,
  title text,
  platform text,
  origin text,
  display_name text,
  cwd text,
  model text,
  provider text,
  base_url text,
  config text,
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  cache_read_tokens integer not null default 0,
  cache_write_tokens integer not null default 0,
  reasoning_tokens integer not null default 0,
  last_prompt_tokens integer not null default 0,
  cost_usd real,
  cost_status text not null default 'unknown',
  cost_source text,
  human_count integer not null default 0,
  tool_call_count integer not null default 0,
  created_at integer not null,
  last_at integer not null,
  ended_at integer,
  end_reason text,
  archived_at integer,
  removed_at integer,
  parent text,
  next_seq integer not null default 1 check (next_seq <= 16777216),
  version integer not null default 0,
  indexed_seq integer not null default 0,
  lease_holder text,
  fence integer not null default 0
);
create unique index sessions_by_title on sessions(owner, title) where title is not null;
create index sessions_by_owner on sessions(owner);
create index sessions_unindexed on sessions(n) where indexed_seq < next_seq - 1;
create index sessions_removed on sessions(n) where removed_at is not null;
create index sessions_ended on sessions(ended_at) where ended_at is not null;

create table conversations (
  n integer primary key autoincrement,
  profile text not null references profiles(name),
  platform text not null,
  chat_type text not null,
  chat_id text not null,
  thread_id text not null default '',
  account integer not null default 0,
  person text,
  groups_per_user integer not null,
  threads_per_user integer not null,
  session integer not null references sessions(n),
  active_at integer not null,
  created_at integer not null,
  fresh_reason text,
  fresh_had_activity integer,
  fresh_previous integer,
  note_due integer not null default 0,
  notice_due integer not null default 0
);
create unique index conversations_by_identity
  on conversations(profile, platform, chat_type, chat_id, thread_id, account);
create index conversations_by_session on conversations(session);
create index conversations_fresh on conversations(fresh_previous) where fresh_previous is not null;

create table messages (
  id integer primary key,
  at integer not null,
  role integer not null,
  text text,
  parts text,
  meta text
);

create table views (
  session integer not null references sessions(n),
  version integer not null,
  kind text not null,
  at integer not null,
  next_seq integer not null,
  redo integer,
  primary key (session, version)
) without rowid;

create table pieces (
  session integer not null,
  version integer not null,
  position integer not null,
  piece_session integer not null,
  from_seq integer not null,
  to_seq integer,
  primary key (session, version, position),
  foreign key (session, version) references views(session, version) on delete cascade
) without rowid;
create index pieces_of_others on pieces(piece_session) where piece_session <> session;

create table hidden (
  session integer not null references sessions(n) on delete cascade,
  from_seq integer not null,
  to_seq integer not null,
  primary key (session, from_seq)
) without rowid;

create table inbox (
  n integer primary key autoincrement,
  profile text not null,
  platform text not null,
  chat_id text not null,
  message_id text not null,
  conversation integer not null,
  at integer not null,
  state integer not null,
  runner text,
  message text,
  source text,
  turn integer,
  seq integer
);
create unique index inbox_once on inbox(profile, platform, chat_id, message_id);
create index inbox_waiting on inbox(conversation, n) where state = 0;
create index inbox_running on inbox(turn) where state = 1;

create table cursors (name text primary key, value text not null, at integer not null) without rowid;

create table turns (
  n integer primary key autoincrement,
  session integer not null,
  conversation integer not null,
  runner text not null,
  fence integer not null,
  attempt integer not null,
  state text not null,
  target text not null,
  deadline integer,
  started_at integer not null,
  ended_at integer
);
create index turns_running on turns(session) where state = 'running';
create index turns_by_session on turns(session);

create table deliveries (
  n integer primary key autoincrement,
  session integer not null,
  turn integer,
  target text not null,
  parts text not null,
  state text not null,
  attempts integer not null,
  next_at integer not null,
  runner text,
  platform_message_id text,
  last_error text,
  created_at integer not null,
  settled_at integer
);
create index deliveries_due on deliveries(next_at) where state = 'waiting';
create index deliveries_sending on deliveries(n) where state = 'sending';
create index deliveries_by_session on deliveries(session);

create table holds (
  session integer not null references sessions(n) on delete cascade,
  name text not null,
  until integer not null,
  primary key (session, name)
) without rowid;

create table leases (
  name text primary key,
  runner text,
  fence integer not null,
  until integer not null
) without rowid;

create table runners (
  id text primary key,
  host text not null,
  boot text not null,
  pid integer not null,
  started text not null,
  heartbeat integer not null
) without rowid;

create table decisions (
  n integer primary key autoincrement,
  conversation integer not null,
  at integer not null,
  decision text not null,
  reason text,
  active_at integer,
  idle_before integer,
  daily_before integer,
  from_session text,
  to_session text
);
create index decisions_by_conversation on decisions(conversation, n);

create table blobs (hash text primary key, size integer not null, bytes blob not null) without rowid;
create table blob_uses (
  hash text not null references blobs(hash),
  session integer not null,
  primary key (hash, session)
) without rowid;
create index blob_uses_by_session on blob_uses(session);

create virtual table words using fts5(
  terms, content = '', tokenize = "ascii"
);
insert into words(words, rank) values ('automerge', 16);
insert into words(words, rank) values ('secure-delete', 1);
`,
  `
alter table people add column role text;
alter table people add column role_since integer;
create index people_by_role on people(role) where role is not null;
create index accounts_by_person on accounts(person);

alter table conversations add column settings text;
alter table conversations add column expired text;
create index conversations_silent on conversations(n) where expired is null;

alter table sessions add column flushed_seq integer not null default 0;

alter table inbox add column edited_at integer;
alter table inbox add column withdrawn_at integer;
create index inbox_refused on inbox(conversation, n) where state = 5;
create index inbox_lines on inbox(platform, n) where state = 4;
create index inbox_by_age on inbox(at);

create index turns_by_end on turns(ended_at) where ended_at is not null;

create table outbox (
  n integer primary key autoincrement,
  platform text not null,
  session integer,
  turn integer,
  target text not null,
  parts text not null,
  reply_to text,
  buttons text,
  state text not null,
  attempts integer not null,
  next_at integer not null,
  runner text,
  shown text,
  platform_message_id text,
  last_error text,
  created_at integer not null,
  settled_at integer
);
insert into outbox (n, platform, session, turn, target, parts, state, attempts, next_at, runner, platform_message_id,
  last_error, created_at, settled_at)
select n, coalesce(json_extract(target, '$.platform'), ''), session, turn, target, parts, state, attempts, next_at, runner,
  platform_message_id, last_error, created_at, settled_at from deliveries;
drop table deliveries;
alter table outbox rename to deliveries;
create index deliveries_due on deliveries(platform, next_at) where state = 'waiting';
create index deliveries_sending on deliveries(platform, n) where state = 'sending';
create index deliveries_by_session on deliveries(session);
create unique index deliveries_draft on deliveries(turn) where state = 'draft';
create index deliveries_settled on deliveries(settled_at) where settled_at is not null;

alter table leases add column about text;

create table pairings (
  n integer primary key autoincrement,
  platform text not null,
  user_id text,
  asker text,
  person text,
  salt text not null,
  hash text not null,
  asked_at integer not null,
  expires_at integer not null
);
create index pairings_by_user on pairings(platform, user_id);

create table guesses (
  name text primary key,
  count integer not null,
  locked_until integer not null,
  at integer not null
) without rowid;

create table approvals (
  n integer primary key autoincrement,
  session integer not null references sessions(n) on delete cascade,
  conversation integer not null,
  person text not null,
  turn integer not null,
  target text not null,
  request text not null,
  asked_at integer not null,
  deadline integer not null,
  answer text,
  answered_at integer
);
create index approvals_open on approvals(person, n) where answer is null;
create index approvals_by_session on approvals(session);
create index approvals_answered on approvals(answered_at) where answered_at is not null;

create table allowed (
  person text not null,
  pattern text not null,
  session integer not null default 0,
  at integer not null,
  primary key (person, pattern, session)
) without rowid;
create index allowed_in_session on allowed(session) where session > 0;

create table homes (platform text primary key, home text not null, at integer not null) without rowid;
`,
  `
alter table turns add column said text;

alter table allowed add column never integer not null default 0;
`,
  `
create table processes (
  n integer primary key autoincrement,
  id text not null unique,
  session integer not null references sessions(n) on delete cascade,
  conversation integer not null,
  target text not null,
  command text not null,
  cwd text not null,
  background integer not null,
  pty integer not null,
  watch text not null,
  state text not null,
  keeper text,
  pid integer,
  born text,
  detached integer not null default 0,
  begun_at integer not null,
  ended_at integer,
  exit_code integer,
  signal text,
  total integer not null default 0,
  match_count integer not null default 0,
  match_lines text,
  told_upto integer not null default 0,
  told_at integer not null default 0,
  told_matches integer not null default 0,
  told_end integer not null default 0,
  progress integer
);
create index processes_open on processes(session) where state <> 'ended';
create index processes_by_session on processes(session);
create index processes_by_conversation on processes(conversation);
create index processes_watched on processes(n) where background = 1 and told_end = 0;
create index processes_ended on processes(ended_at) where ended_at is not null;

create table process_output (
  n integer primary key autoincrement,
  process integer not null references processes(n) on delete cascade,
  from_char integer not null,
  text text not null
);
create index process_output_of on process_output(process, from_char);

create table memories (
  owner text not null,
  version integer not null,
  at integer not null,
  entries text not null,
  primary key (owner, version)
) without rowid;

create table flushes (
  n integer primary key autoincrement,
  session integer not null references sessions(n) on delete cascade,
  up_to integer not null,
  attempts integer not null default 0,
  runner text,
  asked_at integer not null,
  done_at integer
);
create index flushes_open on flushes(n) where done_at is null;
create index flushes_by_session on flushes(session);
create index flushes_done on flushes(done_at) where done_at is not null;

alter table turns add column unasked integer not null default 0;

alter table approvals add column attempt integer not null default 1;

alter table deliveries add column quiet integer not null default 0;
alter table approvals add column is_put integer not null default 0;
`,
  `
create index conversations_by_person on conversations(person);
`,
  // A permission without a folder must not apply in every folder. Tools of MCP servers have no folder.
  `
create table allowed_with_folder (
  person text not null,
  pattern text not null,
  folder text not null default '',
  session integer not null default 0,
  at integer not null,
  never integer not null default 0,
  primary key (person, pattern, folder, session)
) without rowid;
insert into allowed_with_folder (person, pattern, session, at, never)
  select person, pattern, session, at, never from allowed where never = 1 or pattern like 'mcp:%';
drop table allowed;
alter table allowed_with_folder rename to allowed;
create index allowed_in_session on allowed(session) where session > 0;
`,
  `
alter table runners add column suspended integer not null default 0;
alter table runners add column resumed_at integer not null default 0;
`,
  `
alter table deliveries add column failures integer not null default 0;
alter table deliveries add column aside_at integer;
alter table deliveries add column in_place_of integer;
create index deliveries_aside on deliveries(n) where aside_at is not null and settled_at is null;
`,
  `
alter table processes add column unfinished_input text;
`,
  `
alter table processes add column timeout_ms integer;
alter table processes add column read_to text;
`,
  // Earlier usage counts as answers on the session's last day. 900000 ms: a quarter of an hour.
  `
create table usage (
  session integer not null references sessions(n) on delete cascade,
  at integer not null,
  purpose text not null,
  provider text not null default '',
  model text not null default '',
  input_tokens integer not null default 0,
  output_tokens integer not null default 0,
  cache_read_tokens integer not null default 0,
  cache_write_tokens integer not null default 0,
  reasoning_tokens integer not null default 0,
  cost_usd real,
  cost_status text not null default 'unknown',
  cost_source text,
  primary key (session, at, purpose, provider, model)
) without rowid;
create index usage_by_time on usage(at);
insert into usage (session, at, purpose, provider, model, input_tokens, output_tokens, cache_read_tokens,
  cache_write_tokens, reasoning_tokens, cost_usd, cost_status, cost_source)
select n, last_at - last_at % 900000, 'answer', coalesce(provider, ''), coalesce(model, ''), input_tokens, output_tokens,
  cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_usd, cost_status, cost_source
from sessions where removed_at is null and (cost_usd is not null
  or input_tokens + output_tokens + cache_read_tokens + cache_write_tokens + reasoning_tokens > 0);
`,
  // Output that ends within a surrogate pair is bytes, which have a column of their own.
  `
alter table process_output add column utf16 blob;
update process_output set utf16 = text, text = '' where typeof(text) = 'blob';
`,
  `
alter table turns add column stop_at integer;
create index turns_to_stop on turns(runner) where state = 'running' and stop_at is not null;
alter table runners add column drain_at integer;
`,
];
