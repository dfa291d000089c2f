import { relative } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { HermesSources } from "./find-sources.ts";
import type { ProblemReporter } from "./import-problem.ts";
import type { InstantReader } from "./instant-reader.ts";
import { type MergedMessages, mergeMessages } from "./merge-messages.ts";
import { type MappedMessage, mapMessage } from "./message-mapping.ts";
import type { StateDatabase } from "./state-database.ts";
import { readTranscript } from "./transcript.ts";

interface SessionReadContext {
  readonly sources: HermesSources;
  readonly database: StateDatabase | undefined;
  readonly readInstant: InstantReader;
  readonly report: ProblemReporter;
}

/** Reads a session from the database and the transcript. It reports and skips unreadable records. */
export function readSession(
  session: string,
  from: SessionReadContext,
): { readonly from: "database" | "transcript" | "both"; readonly union: MergedMessages } {
  const transcript = from.sources.transcripts.get(session);
  const hasRow = from.database?.sessions.has(session) === true;
  const rows = hasRow ? readRows(session, from) : [];
  const lines = transcript === undefined ? [] : readLines(session, transcript, from);
  return {
    from: transcript === undefined ? "database" : hasRow ? "both" : "transcript",
    union: mergeMessages(rows, lines),
  };
}

function readRows(
  session: string,
  { sources, database, readInstant, report }: SessionReadContext,
): MappedMessage[] {
  const file = relative(sources.path, sources.database ?? "") || (sources.database ?? "");
  const mapped: MappedMessage[] = [];
  const reportLine = (kind: "corrupt" | "too_large", line: number, why: string): void =>
    report({ kind, file, line, session, why });
  try {
    for (const { row, record, damaged } of database?.messages(session) ?? []) {
      for (const column of damaged) reportLine("corrupt", row, `${column} is not JSON; its text is kept`);
      const message = mapOrReport(record, readInstant, (kind, why) => reportLine(kind, row, why));
      if (message !== undefined) mapped.push(message);
    }
  } catch (error) {
    if (!isFileError(error)) throw error;
    report({ kind: "file", file, session, why: `some of its messages cannot be read: ${error.message}` });
  }
  return mapped;
}

function readLines(
  session: string,
  path: string,
  { sources, readInstant, report }: SessionReadContext,
): MappedMessage[] {
  const file = relative(sources.path, path);
  const mapped: MappedMessage[] = [];
  try {
    for (const read of readTranscript(path)) {
      const { line } = read;
      const reportLine = (kind: "corrupt" | "too_large", why: string): void =>
        report({ kind, file, line, session, why });
      if ("why" in read) reportLine(read.tooLarge ? "too_large" : "corrupt", read.why);
      else {
        const message = mapOrReport(read.record, readInstant, reportLine);
        if (message !== undefined) mapped.push(message);
      }
    }
  } catch (error) {
    if (!isFileError(error)) throw error;
    report({ kind: "file", file, session, why: `the transcript cannot be read: ${error.message}` });
  }
  return mapped;
}

/** An error of the system or SQLite about the file, not a bug and not a requested stop. */
function isFileError(error: unknown): error is Error & { readonly code: string } {
  return !(error instanceof PostriderError) && typeof (error as { code?: unknown }).code === "string";
}

/** The message, or `undefined` after its problem was reported. */
function mapOrReport(
  record: Readonly<Record<string, unknown>>,
  readInstant: InstantReader,
  reportMessage: (kind: "corrupt" | "too_large", why: string) => void,
): MappedMessage | undefined {
  try {
    return mapMessage(record, readInstant);
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    reportMessage(error.code === "too_large" ? "too_large" : "corrupt", error.message);
    return undefined;
  }
}
