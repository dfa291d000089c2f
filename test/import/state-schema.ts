/** The columns of the source database at each schema version that the importer must read. */
interface Columns {
  readonly sessions: readonly string[];
  readonly messages: readonly string[];
}

const SESSIONS = [
  "id text primary key",
  "source text not null",
  "user_id text",
  "model text",
  "model_config text",
  "system_prompt text",
  "parent_session_id text references sessions(id)",
  "started_at real not null",
  "ended_at real",
  "end_reason text",
  "message_count integer default 0",
  "tool_call_count integer default 0",
  "input_tokens integer default 0",
  "output_tokens integer default 0",
];
const BILLING = [
  "cache_read_tokens integer default 0",
  "cache_write_tokens integer default 0",
  "reasoning_tokens integer default 0",
  "billing_provider text",
  "billing_base_url text",
  "billing_mode text",
  "estimated_cost_usd real",
  "actual_cost_usd real",
  "cost_status text",
  "cost_source text",
  "pricing_version text",
];
const MESSAGES = [
  "id integer primary key autoincrement",
  "session_id text not null references sessions(id)",
  "role text not null",
  "content text",
  "tool_call_id text",
  "tool_calls text",
  "tool_name text",
  "timestamp real not null",
  "token_count integer",
];
const REASONING = ["reasoning text", "reasoning_details text", "codex_reasoning_items text"];

function columnsAt(version: number): Columns {
  return {
    sessions: [...SESSIONS, ...(version >= 3 ? ["title text"] : []), ...(version >= 5 ? BILLING : [])],
    messages: [
      ...MESSAGES,
      ...(version >= 2 ? ["finish_reason text"] : []),
      ...(version >= 6 ? REASONING : []),
      ...(version >= 7 ? ["mood text"] : []),
    ],
  };
}

/** The statements that create an empty database of this version; 7 is a future version. */
export function schemaAt(version: number): string {
  const { sessions, messages } = columnsAt(version);
  return `
    create table schema_version (version integer not null);
    insert into schema_version values (${version});
    create table sessions (${sessions.join(", ")});
    create table messages (${messages.join(", ")});
    create index messages_by_session on messages(session_id, timestamp);
    ${version >= 4 ? "create unique index titles on sessions(title) where title is not null;" : ""}
    create virtual table messages_fts using fts5(content, content = messages, content_rowid = id);
    create trigger messages_in after insert on messages begin
      insert into messages_fts(rowid, content) values (new.id, new.content);
    end;`;
}

/** Names of the columns, without their types. */
export function columnNames(version: number, table: "sessions" | "messages"): ReadonlySet<string> {
  return new Set(columnsAt(version)[table].map((column) => column.split(" ")[0] ?? ""));
}
