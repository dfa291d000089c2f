/** What a working child says: a line before each operation begins, and one after it was acknowledged. */
export type Line =
  | { readonly say: "ready" }
  | { readonly say: "open"; readonly synchronous: number }
  | { readonly say: "working" }
  | ({ readonly say: "begin" } & Begun)
  | { readonly say: "done"; readonly key: string; readonly result: Result }
  | { readonly say: "refused"; readonly key: string; readonly code: string }
  | { readonly say: "failed"; readonly key: string; readonly error: string }
  | { readonly say: "end" };

export type Told = { readonly do: "go" } | { readonly do: "stop" };

export type OperationName =
  | "create"
  | "open"
  | "append"
  | "accept"
  | "claim"
  | "finish"
  | "undo"
  | "redo"
  | "rewrite"
  | "compress"
  | "fork"
  | "title"
  | "usage"
  | "hold"
  | "remove";

export interface Begun {
  /** `round-number`: what the operation writes carries it, so that it is recognised in the database. */
  readonly key: string;
  readonly name: OperationName;
  /** The session it is done to; for `open`, only the result knows. */
  readonly session?: string;
  /** How many messages it writes. */
  readonly count: number;
  readonly turn?: number;
}

export interface Result {
  readonly session?: string;
  readonly seqs?: readonly number[];
  readonly version?: number;
}

/** Texts are `[key] i/count …`. */
export function textsOf(key: string, count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => `[${key}] ${index + 1}/${count} and some words to search for`,
  );
}

export interface Operation extends Begun {
  /** Undefined while it is in flight, and for ever when the process was killed before it answered. */
  result?: Result;
  refused?: string;
}
