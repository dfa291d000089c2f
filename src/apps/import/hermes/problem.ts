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

/** Takes a problem down; under `--strict` it throws at those that lose something. */
export type Tell = (problem: Problem) => void;
