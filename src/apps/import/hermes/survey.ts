import { type IndexedChats, mapChats } from "./chats.ts";
import type { HermesSources } from "./find-sources.ts";
import type { HermesIndex, IndexEntry } from "./index-file.ts";
import type { InstantReader } from "./instant-reader.ts";
import { type HermesSession, readSessionStart } from "./session-mapping.ts";
import type { HermesRow, StateDatabase } from "./state-database.ts";

/** The sessions of the source, before any message is read. */
export interface HermesSurvey {
  /** Ordered by start time, so that every run numbers titles in the same way. */
  readonly sessions: readonly Omit<HermesSession, "messages">[];
  readonly absent: readonly IndexEntry[];
  readonly chats: IndexedChats;
}

export function surveySources(
  { transcripts }: HermesSources,
  { entries }: HermesIndex,
  database: StateDatabase | undefined,
  readInstant: InstantReader,
): HermesSurvey {
  const rows = database?.sessions ?? new Map<string, HermesRow>();
  const exists = ({ session }: IndexEntry): boolean => rows.has(session) || transcripts.has(session);
  const present = entries.filter(exists);
  const chats = mapChats(present);
  const newest = new Map<string, IndexEntry>();
  for (const entry of present.toSorted((a, b) => (a.updatedAt ?? 0) - (b.updatedAt ?? 0)))
    newest.set(entry.session, entry);
  const sessions = [...new Set([...rows.keys(), ...transcripts.keys()])].map((id) => {
    const head = { id, row: rows.get(id) ?? {}, entry: newest.get(id) };
    const found = { ...head, conversations: chats.bySession.get(id) ?? [], user: findUser(rows, id) };
    return { found, start: readSessionStart(found, readInstant) ?? 0 };
  });
  return {
    sessions: sessions
      .toSorted((a, b) => a.start - b.start || (a.found.id < b.found.id ? -1 : 1))
      .map(({ found }) => found),
    absent: entries.filter((entry) => !exists(entry)),
    chats,
  };
}

/** The user of its row, or of the session that it continues: a compressed session has none. */
function findUser(rows: ReadonlyMap<string, HermesRow>, id: string): string | undefined {
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
