import { PostriderError } from "../../../core/errors.ts";

/** A problem of the import. Paths are relative to the source. */
export interface ImportProblem {
  readonly kind: ImportProblemKind;
  readonly file?: string;
  /** The line of a file, from 1; in the database, the id of the row. */
  readonly line?: number;
  readonly session?: string;
  readonly why: string;
}

/**
 * corrupt: an unreadable line, row or field; too_large: a message beyond the limits; file: an unreadable file; missing:
 * the index names a transcript that does not exist; absent: it names a session that does not exist; chat: a chat that
 * does not continue; title, id: changed by the import; changed: the session exists here with other messages; failed: not
 * stored, or stored differently; newer: written by a newer version.
 */
export type ImportProblemKind =
  | "corrupt"
  | "too_large"
  | "file"
  | "missing"
  | "absent"
  | "chat"
  | "title"
  | "id"
  | "changed"
  | "failed"
  | "newer";

/** Absent fields are null. */
export interface ImportProblemJson {
  readonly kind: ImportProblemKind;
  readonly file: string | null;
  readonly line: number | null;
  readonly session: string | null;
  readonly why: string;
}

export function importProblemToJson({ kind, file, line, session, why }: ImportProblem): ImportProblemJson {
  return { kind, file: file ?? null, line: line ?? null, session: session ?? null, why };
}

/** Records a problem; with `--strict` it throws for those that lose data. */
export type ProblemReporter = (problem: ImportProblem) => void;

const STRICT_KINDS: ReadonlySet<string> = new Set(["corrupt", "too_large", "file"]);

/** Collects problems; with `strict`, throws for those that lose data. */
export function createProblemReporter(problems: ImportProblem[], strict: boolean): ProblemReporter {
  return (problem) => {
    problems.push(problem);
    if (!strict || !STRICT_KINDS.has(problem.kind)) return;
    const { file, line, why } = problem;
    const place = line === undefined ? file : `${file}, ${file?.endsWith(".jsonl") ? "line" : "row"} ${line}`;
    throw new PostriderError(
      problem.kind === "too_large" ? "too_large" : "corrupt",
      `${place}: ${why}. The session was not imported. Without --strict, the import skips and reports this.`,
      { details: { ...problem } },
    );
  };
}

/** Shortens a foreign name to one line. */
export function shortenName(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}
