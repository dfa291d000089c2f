import { relative } from "node:path";
import type { Asker } from "../../../core/owner.ts";
import { findSources, type HermesSources } from "./find-sources.ts";
import { computeFingerprint, toCanonicalMessage } from "./fingerprint.ts";
import {
  createProblemReporter,
  type ImportProblem,
  importProblemToJson,
  type ProblemReporter,
  shortenName,
} from "./import-problem.ts";
import type { HermesIndex } from "./index-file.ts";
import { createInstantReader, type InstantReader } from "./instant-reader.ts";
import { openHermesDatabase, openHermesIndex } from "./open-sources.ts";
import { readSession } from "./read-session.ts";
import {
  countImportedMessages,
  countProblems,
  createCounts,
  type ImportCounts,
  type ImportReport,
  isComplete,
  type ReportItem,
} from "./report.ts";
import { type HermesSession, mapSession, type PreparedSession } from "./session-mapping.ts";
import type { StateDatabase } from "./state-database.ts";
import { type ImportOutcome, type ImportTarget, storeSession } from "./store-session.ts";
import { type HermesSurvey, surveySources } from "./survey.ts";

export interface HermesImportOptions {
  readonly path: string;
  /** The time zone of wall-clock times in the source. */
  readonly zone: string;
  /** Stop at the first problem that would lose data. */
  readonly strict: boolean;
  readonly dryRun: boolean;
  /** The target. A dry run only reads it; absent when there is no database yet. */
  readonly target?: ImportTarget;
  readonly now: number;
  onProgress?(done: number, total: number): void;
  clock(): number;
}

const EVERYONE: Asker = { everyone: true };

/** Imports a home, session by session. It can be stopped at any point and run again. */
export async function importHermes(options: HermesImportOptions): Promise<ImportReport> {
  const { zone, now, dryRun } = options;
  const sources = findSources(options.path);
  const problems: ImportProblem[] = [];
  const tell = createProblemReporter(problems, options.strict);
  const readInstant = createInstantReader(zone);
  const index = openHermesIndex(sources, readInstant, tell);
  const database = openHermesDatabase(sources, tell);
  try {
    const survey = surveySources(sources, index, database, readInstant);
    const counts = createCounts();
    counts.sessions.found = survey.sessions.length;
    reportChats(survey, index, sources, counts, tell);
    const items: ReportItem[] = [];
    for (const [done, found] of survey.sessions.entries()) {
      options.onProgress?.(done, survey.sessions.length);
      items.push(
        await importSession(found, {
          options,
          sources,
          database,
          readInstant,
          counts,
          problems,
          report: tell,
        }),
      );
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
      corrupt: countProblems(problems, "corrupt"),
      too_large: countProblems(problems, "too_large"),
      missing_transcripts: countProblems(problems, "missing"),
      complete: isComplete(problems),
      problems: problems.map(importProblemToJson),
      items,
    };
  } finally {
    database?.close();
  }
}

function reportChats(
  { absent, chats }: HermesSurvey,
  { entries }: HermesIndex,
  sources: HermesSources,
  counts: ImportCounts,
  tell: ProblemReporter,
): void {
  const file = sources.index === undefined ? "sessions.json" : relative(sources.path, sources.index);
  counts.conversations.found = entries.length;
  counts.sessions.absent = new Set(absent.map(({ session }) => session)).size;
  const gone = new Set(absent);
  for (const entry of entries) {
    const { key, session } = entry;
    if (gone.has(entry)) {
      counts.conversations.left += 1;
      tell({ kind: "absent", file, session, why: `${shortenName(key)} names a session that does not exist` });
    } else if (!sources.transcripts.has(session)) {
      tell({
        kind: "missing",
        file,
        session,
        why: `${shortenName(key)} names a session that has no transcript`,
      });
    }
  }
  for (const { entry, why } of chats.skipped) {
    counts.conversations.left += 1;
    tell({ kind: "chat", file, session: entry.session, why: `${shortenName(entry.key)}: ${why}` });
  }
}

interface ImportContext {
  readonly options: HermesImportOptions;
  readonly sources: HermesSources;
  readonly database: StateDatabase | undefined;
  readonly readInstant: InstantReader;
  readonly counts: ImportCounts;
  readonly problems: readonly ImportProblem[];
  readonly report: ProblemReporter;
}

async function importSession(
  head: Omit<HermesSession, "messages">,
  work: ImportContext,
): Promise<ReportItem> {
  const { options, counts, report } = work;
  const first = work.problems.length;
  const { from, union } = readSession(head.id, work);
  const found: HermesSession = { ...head, messages: union.messages };
  const ready = mapSession(found, work.readInstant, options.now);
  const { id } = ready.session;
  if (id !== head.id)
    report({ kind: "id", session: id, why: `${shortenName(head.id)} is not a valid session id here` });
  countImportedMessages(counts, ready.messages);
  counts.blobs += ready.blobs.length;
  if (ready.wantedTitle !== undefined) counts.titles.found += 1;
  if (ready.parent !== undefined) counts.lineage += 1;
  const here = await options.target?.sessions.get(EVERYONE, id);
  if (here !== undefined) counts.sessions.here += 1;
  const outcome =
    options.dryRun || options.target === undefined ? undefined : await storeSession(options.target, ready);
  if (outcome !== undefined) reportOutcome(outcome, ready, counts, report);
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
    hash: outcome?.hash ?? computeFingerprint(ready.messages.map(toCanonicalMessage)),
    conversations: (ready.conversations ?? []).length,
    skipped: work.problems.slice(first).map(importProblemToJson),
  };
}

function reportOutcome(
  { status, why, stored, chats }: ImportOutcome,
  ready: PreparedSession,
  counts: ImportCounts,
  tell: ProblemReporter,
): void {
  const { id } = ready.session;
  counts.sessions[status] += 1;
  if (why !== undefined) tell({ kind: status === "changed" ? "changed" : "failed", session: id, why });
  if (ready.wantedTitle !== undefined && stored !== undefined) {
    const kept = stored.title === ready.wantedTitle;
    counts.titles[kept ? "kept" : "other"] += 1;
    if (!kept) {
      const now = stored.title === undefined ? "was not kept" : `became ${JSON.stringify(stored.title)}`;
      tell({ kind: "title", session: id, why: `${JSON.stringify(shortenName(ready.wantedTitle))} ${now}` });
    }
  }
  for (const chat of chats) {
    counts.conversations[chat.why === undefined ? "placed" : "left"] += 1;
    if (chat.why !== undefined) {
      const { platform, chatId } = chat.conversation.source;
      tell({ kind: "chat", session: id, why: `${platform} ${shortenName(chatId)}: ${chat.why}` });
    }
  }
}
