import { relative } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { Asker } from "../../../core/owner.ts";
import { bringIn, type Into, type Outcome } from "./bring-in.ts";
import { type Chats, chatsOf } from "./chats.ts";
import { findSources, type Sources } from "./find.ts";
import { canonical, fingerprint } from "./fingerprint.ts";
import { type Index, type IndexEntry, readIndex } from "./index-file.ts";
import { instantsIn, type ReadInstant } from "./instants.ts";
import type { Problem, Tell } from "./problem.ts";
import { readSession } from "./read-session.ts";
import {
  type Counts,
  countMessages,
  countOf,
  isComplete,
  newCounts,
  type Report,
  type ReportItem,
} from "./report.ts";
import { type Found, type Ready, sessionFrom, startOf } from "./session-mapping.ts";
import { KNOWN_VERSION, openStateDatabase, type Row, type StateDatabase } from "./state-database.ts";

export interface HermesImport {
  readonly path: string;
  /** In which wall-clock times of the source are meant. */
  readonly zone: string;
  /** Stop at the first thing that would be lost. */
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** Where to; in a dry run only looked at, and absent when there is no database yet. */
  readonly into?: Into;
  readonly now: number;
  onProgress?(done: number, total: number): void;
  clock(): number;
}

const EVERYONE: Asker = { everyone: true };

/** Takes over a home, session by session. May be stopped anywhere and run again: it goes on where it was. */
export async function importHermes(options: HermesImport): Promise<Report> {
  const { zone, now, dryRun } = options;
  const sources = findSources(options.path);
  const problems: Problem[] = [];
  const tell = teller(problems, options.strict);
  const readInstant = instantsIn(zone);
  const index = indexOf(sources, readInstant, tell);
  const database = databaseOf(sources, tell);
  try {
    const survey = surveyOf(sources, index, database, readInstant);
    const counts = newCounts();
    counts.sessions.found = survey.sessions.length;
    tellOfChats(survey, index, sources, counts, tell);
    const items: ReportItem[] = [];
    for (const [done, found] of survey.sessions.entries()) {
      options.onProgress?.(done, survey.sessions.length);
      items.push(await takeOver(found, { options, sources, database, readInstant, counts, problems, tell }));
    }
    options.onProgress?.(survey.sessions.length, survey.sessions.length);
    return {
      format: "postrider.import",
      version: 1,
      from: "hermes",
      path: sources.path,
      dry_run: dryRun,
      zone,
      schema_version: database?.version ?? null,
      started_at: now,
      finished_at: options.clock(),
      ...counts,
      corrupt: countOf(problems, "corrupt"),
      too_large: countOf(problems, "too_large"),
      missing_transcripts: countOf(problems, "missing"),
      complete: isComplete(problems),
      problems,
      items,
    };
  } finally {
    database?.close();
  }
}

const STRICT_KINDS: ReadonlySet<string> = new Set(["corrupt", "too_large", "file"]);

function teller(problems: Problem[], strict: boolean): Tell {
  return (problem) => {
    problems.push(problem);
    if (!strict || !STRICT_KINDS.has(problem.kind)) return;
    const { file, line, why } = problem;
    const place = line === undefined ? file : `${file}, ${file?.endsWith(".jsonl") ? "line" : "row"} ${line}`;
    throw new PostriderError(
      problem.kind === "too_large" ? "too_large" : "corrupt",
      `${place}: ${why}. Nothing of that session was imported; without --strict it is skipped and reported.`,
      { details: { ...problem } },
    );
  };
}

function indexOf({ path, index }: Sources, readInstant: ReadInstant, tell: Tell): Index {
  if (index === undefined) return { entries: [], broken: [] };
  const file = relative(path, index);
  try {
    const read = readIndex(index, readInstant);
    for (const { key, why } of read.broken) tell({ kind: "corrupt", file, why: `${short(key)}: ${why}` });
    return read;
  } catch (error) {
    if (error instanceof PostriderError && error.details.kind !== undefined) throw error;
    const why = `the index cannot be read, so no chat goes on where it was: ${(error as Error).message}`;
    tell({ kind: "file", file, why });
    return { entries: [], broken: [] };
  }
}

function databaseOf(
  { path, database: file, transcripts, index }: Sources,
  tell: Tell,
): StateDatabase | undefined {
  if (file === undefined) return undefined;
  const name = relative(path, file) || file;
  try {
    const database = openStateDatabase(file);
    const { version, damage } = database;
    if (damage !== undefined) tell({ kind: "file", file: name, why: `not all of it can be read: ${damage}` });
    if (version !== undefined && version > KNOWN_VERSION) {
      const why = `schema ${version} is newer than ${KNOWN_VERSION}: columns that are not known are kept as they are`;
      tell({ kind: "newer", file: name, why });
    }
    return database;
  } catch (error) {
    const isAll = transcripts.size === 0 && index === undefined;
    if (
      isAll ||
      !(error instanceof PostriderError) ||
      error.code !== "corrupt" ||
      error.details.kind !== undefined
    )
      throw error;
    tell({ kind: "file", file: name, why: error.message });
    return undefined;
  }
}

interface Survey {
  /** In the order in which they began, so that titles are numbered alike in every run. */
  readonly sessions: readonly Omit<Found, "messages">[];
  readonly absent: readonly IndexEntry[];
  readonly chats: Chats;
}

function surveyOf(
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

function tellOfChats(
  { absent, chats }: Survey,
  { entries }: Index,
  sources: Sources,
  counts: Counts,
  tell: Tell,
): void {
  const file = sources.index === undefined ? "sessions.json" : relative(sources.path, sources.index);
  counts.conversations.found = entries.length;
  counts.sessions.absent = new Set(absent.map(({ session }) => session)).size;
  const gone = new Set(absent);
  for (const entry of entries) {
    const { key, session } = entry;
    if (gone.has(entry)) {
      counts.conversations.left += 1;
      tell({ kind: "absent", file, session, why: `${short(key)} names a session that is nowhere` });
    } else if (!sources.transcripts.has(session)) {
      tell({ kind: "missing", file, session, why: `${short(key)} names a session that has no transcript` });
    }
  }
  for (const { entry, why } of chats.left) {
    counts.conversations.left += 1;
    tell({ kind: "chat", file, session: entry.session, why: `${short(entry.key)}: ${why}` });
  }
}

interface Work {
  readonly options: HermesImport;
  readonly sources: Sources;
  readonly database: StateDatabase | undefined;
  readonly readInstant: ReadInstant;
  readonly counts: Counts;
  readonly problems: readonly Problem[];
  readonly tell: Tell;
}

async function takeOver(head: Omit<Found, "messages">, work: Work): Promise<ReportItem> {
  const { options, counts, tell } = work;
  const first = work.problems.length;
  const { from, union } = readSession(head.id, work);
  const found: Found = { ...head, messages: union.messages };
  const ready = sessionFrom(found, work.readInstant, options.now);
  const { id } = ready.session;
  if (id !== head.id) tell({ kind: "id", session: id, why: `${short(head.id)} cannot be an id here` });
  countMessages(counts, ready.messages);
  counts.blobs += ready.blobs.length;
  if (ready.wantedTitle !== undefined) counts.titles.found += 1;
  if (ready.parent !== undefined) counts.lineage += 1;
  const here = await options.into?.sessions.get(EVERYONE, id);
  if (here !== undefined) counts.sessions.here += 1;
  const outcome =
    options.dryRun || options.into === undefined ? undefined : await bringIn(options.into, ready);
  if (outcome !== undefined) tellOutcome(outcome, ready, counts, tell);
  return {
    id,
    ...(id !== head.id && { original_id: head.id }),
    status: outcome?.status ?? "found",
    read_from: from,
    platform: ready.platform ?? null,
    title: (outcome?.stored ?? ready.session).title ?? null,
    parent_session_id: ready.parent ?? null,
    messages: ready.messages.length,
    database_only: from === "both" ? union.databaseOnly : 0,
    transcript_only: from === "both" ? union.transcriptOnly : 0,
    hash: outcome?.hash ?? fingerprint(ready.messages.map(canonical)),
    conversations: (ready.conversations ?? []).length,
    skipped: work.problems.slice(first),
  };
}

function tellOutcome(
  { status, why, stored, chats }: Outcome,
  ready: Ready,
  counts: Counts,
  tell: Tell,
): void {
  const { id } = ready.session;
  counts.sessions[status] += 1;
  if (why !== undefined) tell({ kind: status === "changed" ? "changed" : "failed", session: id, why });
  if (ready.wantedTitle !== undefined && stored !== undefined) {
    const kept = stored.title === ready.wantedTitle;
    counts.titles[kept ? "kept" : "other"] += 1;
    if (!kept) {
      const now =
        stored.title === undefined ? "has no title now" : `is called ${JSON.stringify(stored.title)} now`;
      tell({ kind: "title", session: id, why: `${JSON.stringify(short(ready.wantedTitle))} ${now}` });
    }
  }
  for (const chat of chats) {
    counts.conversations[chat.why === undefined ? "placed" : "left"] += 1;
    if (chat.why !== undefined) {
      const { platform, chatId } = chat.conversation.source;
      tell({ kind: "chat", session: id, why: `${platform} ${short(chatId)}: ${chat.why}` });
    }
  }
}

/** Names from outside on one line, and not the whole of a long one. */
function short(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}
