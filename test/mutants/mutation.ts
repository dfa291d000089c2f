/** A one-line change of a source file that breaks a promise, and the tests that must fail because of it. */
export interface Mutation {
  /** The source file, from the root of the repository. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The promise that no longer holds, in one sentence. */
  readonly breaks: string;
  /** The smallest test files of which at least one must fail. */
  readonly noticedBy: readonly string[];
  /** A part of a test's title: only tests with this title run, if the whole file would be slow. */
  readonly test?: string;
}
