import { PostriderError } from "../../../core/errors.ts";

/** Something of the source that could not be taken over as it stands. Paths are relative to the home. */
export interface Problem {
  readonly kind: ProblemKind;
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
export type ProblemKind =
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
export interface ProblemJson {
  readonly kind: ProblemKind;
  readonly file: string | null;
  readonly line: number | null;
  readonly session: string | null;
  readonly why: string;
}

export function problemToJson({ kind, file, line, session, why }: Problem): ProblemJson {
  return { kind, file: file ?? null, line: line ?? null, session: session ?? null, why };
}

/** Takes a problem down; under `--strict` it throws at those that lose something. */
export type Tell = (problem: Problem) => void;

const STRICT_KINDS: ReadonlySet<string> = new Set(["corrupt", "too_large", "file"]);

/** Collects problems; where `strict`, stops at those that lose something. */
export function teller(problems: Problem[], strict: boolean): Tell {
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
export function short(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}
