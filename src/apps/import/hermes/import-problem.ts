import { PostriderError } from "../../../core/errors.ts";

/** Something of the source that could not be taken over as it stands. Paths are relative to the home. */
export interface ImportProblem {
  readonly kind: ImportProblemKind;
  readonly file?: string;
  /** In a file counted from 1; in the database the id of the row. */
  readonly line?: number;
  readonly session?: string;
  readonly why: string;
}

/**
 * corrupt: a line, row or field that cannot be read; too_large: a message beyond the limits; file: a whole file that
 * cannot be read; missing: the index names a transcript that is not there; absent: it names a session that is nowhere;
 * chat: a chat that does not go on where it was; title, id: kept under another one; changed: a session that is here
 * already and says something else; failed: not stored, or not as it was read; newer: written by a newer version.
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

/** Every field is there, null when absent. */
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

/** Takes a problem down; under `--strict` it throws at those that lose something. */
export type ProblemReporter = (problem: ImportProblem) => void;

const STRICT_KINDS: ReadonlySet<string> = new Set(["corrupt", "too_large", "file"]);

/** Collects problems; where `strict`, stops at those that lose something. */
export function createProblemReporter(problems: ImportProblem[], strict: boolean): ProblemReporter {
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

/** Names from outside on one line, and not the whole of a long one. */
export function shortenName(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}
