import { type Chats, chatsOf } from "./chats.ts";
import type { Sources } from "./find.ts";
import type { Index, IndexEntry } from "./index-file.ts";
import type { ReadInstant } from "./instants.ts";
import { type Found, startOf } from "./session-mapping.ts";
import type { Row, StateDatabase } from "./state-database.ts";

/** What there is, before any message is read. */
export interface Survey {
  /** In the order in which they began, so that titles are numbered alike in every run. */
  readonly sessions: readonly Omit<Found, "messages">[];
  readonly absent: readonly IndexEntry[];
  readonly chats: Chats;
}

export function surveyOf(
  { transcripts }: Sources,
  { entries }: Index,
  database: StateDatabase | undefined,
  readInstant: ReadInstant,
): Survey {
  const rows = database?.sessions ?? new Map<string, Row>();
  const exists = ({ session }: IndexEntry): boolean => rows.has(session) || transcripts.has(session);
  const present = entries.filter(exists);
  const chats = chatsOf(present);
  const newest = new Map<string, IndexEntry>();
  for (const entry of present.toSorted((a, b) => (a.updatedAt ?? 0) - (b.updatedAt ?? 0)))
    newest.set(entry.session, entry);
  const sessions = [...new Set([...rows.keys(), ...transcripts.keys()])].map((id) => {
    const head = { id, row: rows.get(id) ?? {}, entry: newest.get(id) };
    const found = { ...head, conversations: chats.bySession.get(id) ?? [], user: userOf(rows, id) };
    return { found, start: startOf(found, readInstant) ?? 0 };
  });
  return {
    sessions: sessions
      .toSorted((a, b) => a.start - b.start || (a.found.id < b.found.id ? -1 : 1))
      .map(({ found }) => found),
    absent: entries.filter((entry) => !exists(entry)),
    chats,
  };
}

/** The user of its row, else of the session that it continues: a session made by compression names none. */
function userOf(rows: ReadonlyMap<string, Row>, id: string): string | undefined {
  const seen = new Set<string>();
  const source = rows.get(id)?.source;
  for (let at = id; !seen.has(at); ) {
    seen.add(at);
    const row = rows.get(at);
    if (row === undefined || row.source !== source) return undefined;
    if (row.user_id !== null && row.user_id !== undefined && String(row.user_id).trim() !== "")
      return String(row.user_id);
    at = String(row.parent_session_id);
  }
  return undefined;
}
