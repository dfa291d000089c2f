import { relative } from "node:path";
import type { Asker } from "../../../core/owner.ts";
import { bringIn, type Into, type Outcome } from "./bring-in.ts";
import { findSources, type Sources } from "./find.ts";
import { canonical, fingerprint } from "./fingerprint.ts";
import type { Index } from "./index-file.ts";
import { instantsIn, type ReadInstant } from "./instants.ts";
import { databaseOf, indexOf } from "./open-sources.ts";
import { type Problem, problemToJson, short, type Tell, teller } from "./problem.ts";
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
import { type Found, type Ready, sessionFrom } from "./session-mapping.ts";
import type { StateDatabase } from "./state-database.ts";
import { type Survey, surveyOf } from "./survey.ts";

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
      problems: problems.map(problemToJson),
      items,
    };
  } finally {
    database?.close();
  }
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
    original_id: id === head.id ? null : head.id,
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
    skipped: work.problems.slice(first).map(problemToJson),
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
