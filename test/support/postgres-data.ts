import { TABLES } from "../../src/stores/postgres/schema.ts";
import { connectTestServer } from "./postgres-server.ts";

const T0 = Date.UTC(2026, 2, 15);

/** Fills the large tables of a schema, in the proportions of a busy gateway, with this many messages. */
export async function fillSchema(schema: string, messages: number): Promise<void> {
  const admin = await connectTestServer();
  const sessions = Math.ceil(messages / 50);
  const each = (count: number, from = 1_000_001): string =>
    `from generate_series(${from}, ${from + count - 1}) as g`;
  await admin.query(`
begin; set local search_path = "${schema}"; set local session_replication_role = replica;
insert into people (id, created_at) select 'p_' || g, ${T0} ${each(sessions)};
insert into accounts (n, platform, user_id, person, created_at) select g, 'telegram', g::text, 'p_' || g, ${T0} ${each(sessions)};
insert into sessions (n, id, handle, kind, profile, owner, title, platform, created_at, last_at, ended_at, next_seq, indexed_seq)
  select g, 'filled_' || g, 'h' || g, 'chat', 'main', 'p_' || g % 1000, 'Title ' || g, 'telegram', ${T0} + g, ${T0} + g,
    case when g % 2 = 0 then ${T0} + g end, 51, 50 ${each(sessions)};
insert into conversations (n, profile, platform, chat_type, chat_id, thread_id, account, person, groups_per_user,
  threads_per_user, session, active_at, created_at, expired)
  select g, 'main', 'telegram', 'dm', g::text, '', 0, 'p_' || g % 1000, 1, 1, g, ${T0} + g, ${T0},
    case when g % 2 = 0 then 'idle' end ${each(sessions)};
insert into messages (id, at, role, text)
  select (1000001 + g / 50)::bigint * 16777216 + 1 + g % 50, ${T0} + g, g % 2, 'word' || g % 5000 || ' and more text'
  ${each(messages, 0)};
insert into words (message, length, terms) select id, 4, to_tsvector('simple', text) from messages where id > 1000001::bigint * 16777216;
insert into views (session, version, kind, at, next_seq) select g, 1, 'new', ${T0}, 1 ${each(sessions)};
insert into pieces (session, version, position, piece_session, from_seq, to_seq) select g, 1, 0, g, 1, null ${each(sessions)};
insert into inbox (n, profile, platform, chat_id, message_id, conversation, at, state, turn, seq)
  select g, 'main', 'telegram', g::text, g::text, 1000001 + g % ${sessions}, ${T0} + g, 2, g, 1 ${each(messages / 10)};
insert into turns (n, session, conversation, runner, fence, attempt, state, target, started_at, ended_at)
  select g, 1000001 + g % ${sessions}, 1000001 + g % ${sessions}, 'r', 1, 1, 'done', '{}', ${T0}, ${T0} + g ${each(messages / 10)};
insert into deliveries (n, platform, session, turn, target, parts, state, attempts, next_at, created_at, settled_at)
  select g, 'telegram', 1000001 + g % ${sessions}, g, '{}', '[]', 'sent', 1, ${T0}, ${T0}, ${T0} + g ${each(messages / 10)};
insert into decisions (n, conversation, at, decision) select g, 1000001 + g % ${sessions}, ${T0}, 'created' ${each(messages / 10)};
insert into approvals (n, session, conversation, person, turn, target, request, asked_at, deadline, answer, answered_at)
  select g, 1000001 + g % ${sessions}, 1, 'p_' || g % 1000, g, '{}', '{}', ${T0}, ${T0}, 'once', ${T0} + g ${each(messages / 20)};
insert into allowed (person, pattern, at) select 'p_' || g % 1000, 'ls ' || g, ${T0} ${each(messages / 20)};
insert into processes (n, id, session, conversation, target, command, cwd, background, pty, watch, state, begun_at, ended_at, told_end)
  select g, 'filled_' || g, 1000001 + g % ${sessions}, 1000001 + g % ${sessions}, '{}', 'make', '/', 1, 0, '{}', 'ended',
    ${T0}, ${T0} + g, 1 ${each(messages / 20)};
insert into process_output (n, process, from_char, text) select g, g, 0, 'x' ${each(messages / 20)};
insert into memories (owner, version, at, entries) select 'p_' || g % 1000, g, ${T0}, '[]' ${each(messages / 50)};
insert into flushes (n, session, up_to, attempts, asked_at, done_at)
  select g, 1000001 + g % ${sessions}, 4, 1, ${T0}, ${T0} + g ${each(messages / 50)};
insert into usage (session, at, purpose) select 1000001 + g % ${sessions}, ${T0} + g, 'answer' ${each(messages / 20)};
insert into blobs (hash, size, bytes) select 'hash' || g, 1, 'x' ${each(messages / 50)};
insert into blob_uses (hash, session) select 'hash' || g, 1000001 + g % ${sessions} ${each(messages / 50)};
commit`);
  await admin.query(`vacuum analyze ${TABLES.map((table) => `"${schema}".${table}`).join(", ")}`);
}
