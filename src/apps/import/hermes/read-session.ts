import { relative } from "node:path";
import { PostriderError } from "../../../core/errors.ts";
import type { Sources } from "./find.ts";
import type { ReadInstant } from "./instants.ts";
import { type Mapped, messageFrom } from "./message-mapping.ts";
import type { Tell } from "./problem.ts";
import type { StateDatabase } from "./state-database.ts";
import { readTranscript } from "./transcript.ts";
import { type Union, unionOf } from "./union.ts";

interface From {
  readonly sources: Sources;
  readonly database: StateDatabase | undefined;
  readonly readInstant: ReadInstant;
  readonly tell: Tell;
}

/** What either record has of a session. What cannot be read is told and left out; the rest is read. */
export function readSession(
  session: string,
  from: From,
): { readonly from: "database" | "transcript" | "both"; readonly union: Union } {
  const transcript = from.sources.transcripts.get(session);
  const hasRow = from.database?.sessions.has(session) === true;
  const rows = hasRow ? rowsOf(session, from) : [];
  const lines = transcript === undefined ? [] : linesOf(session, transcript, from);
  return {
    from: transcript === undefined ? "database" : hasRow ? "both" : "transcript",
    union: unionOf(rows, lines),
  };
}

function rowsOf(session: string, { sources, database, readInstant, tell }: From): Mapped[] {
  const file = relative(sources.path, sources.database ?? "") || (sources.database ?? "");
  const mapped: Mapped[] = [];
  const told = (kind: "corrupt" | "too_large", line: number, why: string): void =>
    tell({ kind, file, line, session, why });
  try {
    for (const { row, record, damaged } of database?.messages(session) ?? []) {
      for (const column of damaged) told("corrupt", row, `${column} is not JSON; its text is kept`);
      const message = mappedOr(record, readInstant, (kind, why) => told(kind, row, why));
      if (message !== undefined) mapped.push(message);
    }
  } catch (error) {
    if (!isOfTheFile(error)) throw error;
    tell({ kind: "file", file, session, why: `its messages cannot all be read: ${error.message}` });
  }
  return mapped;
}

function linesOf(session: string, path: string, { sources, readInstant, tell }: From): Mapped[] {
  const file = relative(sources.path, path);
  const mapped: Mapped[] = [];
  try {
    for (const read of readTranscript(path)) {
      const { line } = read;
      const told = (kind: "corrupt" | "too_large", why: string): void =>
        tell({ kind, file, line, session, why });
      if ("why" in read) told(read.tooLarge ? "too_large" : "corrupt", read.why);
      else {
        const message = mappedOr(read.record, readInstant, told);
        if (message !== undefined) mapped.push(message);
      }
    }
  } catch (error) {
    if (!isOfTheFile(error)) throw error;
    tell({ kind: "file", file, session, why: `the transcript cannot be read: ${error.message}` });
  }
  return mapped;
}

/** The system's or SQLite's word about the file, not a mistake of ours and not a stop that was asked for. */
function isOfTheFile(error: unknown): error is Error & { readonly code: string } {
  return !(error instanceof PostriderError) && typeof (error as { code?: unknown }).code === "string";
}

/** The message, or `undefined` after it was told why there is none. */
function mappedOr(
  record: Readonly<Record<string, unknown>>,
  readInstant: ReadInstant,
  tell: (kind: "corrupt" | "too_large", why: string) => void,
): Mapped | undefined {
  try {
    return messageFrom(record, readInstant);
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    tell(error.code === "too_large" ? "too_large" : "corrupt", error.message);
    return undefined;
  }
}
