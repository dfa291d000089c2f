import type { Part } from "../../../core/message.ts";
import { buildIndexText } from "../../../core/search-terms.ts";
import { parseList } from "../../sql/json-columns.ts";
import { SEQS_PER_SESSION } from "../../sql/rows.ts";
import type { SqliteDb } from "../connection.ts";

/** The counts of a session's messages, as its row should have them. */
export interface MessageCounts {
  messages: number;
  max_seq: number;
  max_at: number;
  humans: number;
  tool_calls: number;
}

export interface BlobUse {
  readonly session: number;
  readonly hash: string;
}

/** Everything that the checks need from all messages. */
export interface MessageSurvey {
  readonly counts: ReadonlyMap<number, Readonly<MessageCounts>>;
  readonly blobs: readonly BlobUse[];
  /** Rows whose column is not valid JSON of its kind, as `session number:seq`. */
  readonly unreadable: { readonly parts: string[]; readonly meta: string[] };
  /** Messages that should be in the index and are not; entries without a message. */
  readonly index: { readonly missing: number; readonly extra: number };
}

/** In the order of the rows: the messages of a session are adjacent, and nothing is sorted or looked up. */
const MESSAGES_SQL = `
select id, at, role, text is not null, parts,
  case when meta is null then 0 when json_valid(meta) and json_type(meta) = 'object' then 1 else 2 end,
  role = 0 and not case when meta is not null and json_valid(meta)
    then coalesce(json_extract(meta, '$.origin.proactive'), 0) else 0 end,
  case when meta is not null and json_valid(meta) then coalesce(json_array_length(meta, '$.toolCalls'), 0) else 0 end
from messages order by id`;
const BROKEN_META = 2;
const END = Number.POSITIVE_INFINITY;

type SurveyedMessage = [
  id: number,
  at: number,
  role: number,
  hasText: number,
  parts: string | null,
  meta: number,
  isHuman: number,
  calls: number,
];

/** One pass over all messages and the entries of the index: reading a large file takes most of the time. */
export function surveyMessages(db: SqliteDb): MessageSurvey {
  const index = compareIndex(db);
  try {
    return { ...readMessages(db, index), index: index.end() };
  } finally {
    index.close();
  }
}

function readMessages(db: SqliteDb, index: IndexComparison): Omit<MessageSurvey, "index"> {
  const counts = new Map<number, MessageCounts>();
  const blobs: BlobUse[] = [];
  const unreadable = { parts: [] as string[], meta: [] as string[] };
  let n = -1;
  let current = createMessageCounts();
  for (const row of db.each(MESSAGES_SQL)) {
    const [id, at, role, hasText, parts, meta, isHuman, calls] = row as SurveyedMessage;
    const seq = id % SEQS_PER_SESSION;
    if (Math.floor(id / SEQS_PER_SESSION) !== n) {
      n = Math.floor(id / SEQS_PER_SESSION);
      current = createMessageCounts();
      counts.set(n, current);
    }
    current.messages += 1;
    current.max_seq = seq;
    current.max_at = Math.max(current.max_at, at);
    current.humans += isHuman;
    current.tool_calls += calls;
    if (meta === BROKEN_META) unreadable.meta.push(`${n}:${seq}`);
    if (parts !== null) {
      const list = parseList<Part>(parts);
      if (list === undefined) unreadable.parts.push(`${n}:${seq}`);
      else blobs.push(...listBlobUses(n, list));
    }
    index.compare(id, hasText === 1 && role <= 1);
  }
  return { counts, blobs, unreadable };
}

export function createMessageCounts(): MessageCounts {
  return { messages: 0, max_seq: 0, max_at: 0, humans: 0, tool_calls: 0 };
}

export function listBlobUses(session: number, parts: readonly Part[]): BlobUse[] {
  return parts.flatMap((part) =>
    "blob" in part && part.blob !== undefined ? [{ session, hash: part.blob }] : [],
  );
}

interface IndexComparison {
  /** Called for each message, in order. */
  compare(id: number, hasWords: boolean): void;
  end(): MessageSurvey["index"];
  /** Called in any case: an open read would prevent closing the connection. */
  close(): void;
}

/** The index has a row for each text, in the order of the messages. */
function compareIndex(db: SqliteDb): IndexComparison {
  const indexedUpTo = new Map(db.rows("select n, indexed_seq from sessions") as [number, number][]);
  const entries = db.each("select id from words_docsize order by id")[Symbol.iterator]();
  const readNext = (): number => {
    const { done, value } = entries.next();
    return done ? END : (value[0] as number);
  };
  let entry = readNext();
  const counts = { missing: 0, extra: 0 };
  const skipTo = (id: number): void => {
    for (; entry < id; entry = readNext()) counts.extra += 1;
  };
  return {
    compare(id, hasWords) {
      const isDue =
        hasWords && id % SEQS_PER_SESSION <= (indexedUpTo.get(Math.floor(id / SEQS_PER_SESSION)) ?? 0);
      skipTo(id);
      const isIndexed = entry === id;
      if (isIndexed) entry = readNext();
      if (isIndexed && !isDue) counts.extra += 1;
      if (!isIndexed && isDue && readWords(db, id) !== "") counts.missing += 1;
    },
    end() {
      skipTo(END);
      return counts;
    },
    close: () => void entries.return?.(),
  };
}

/** A text without any word has no index entry. */
function readWords(db: SqliteDb, id: number): string {
  return buildIndexText(db.get<{ text: string }>("select text from messages where id = ?", id)?.text ?? "");
}
