/** The output of a working child: a line before each operation starts, and one after it was acknowledged. */
export type Line =
  | { readonly say: "ready" }
  /** It cannot start: not even the first small write has space. */
  | { readonly say: "no room" }
  | { readonly say: "open"; readonly synchronous: number }
  | { readonly say: "working" }
  | ({ readonly say: "begin" } & Begun)
  | { readonly say: "done"; readonly key: string; readonly result: Result }
  | { readonly say: "refused"; readonly key: string; readonly code: string }
  | { readonly say: "failed"; readonly key: string; readonly error: string }
  /** The database's files were removed or replaced: the path of the rescued data. */
  | { readonly say: "lost"; readonly rescued?: string; readonly movedTo?: string; readonly error: string }
  | { readonly say: "end" };

export type Told =
  | {
      readonly do: "go";
      /** The store's option. */
      readonly maxBytes?: number;
      /** Removes nothing, because a removal frees space. */
      readonly keeps?: boolean;
    }
  | { readonly do: "stop" };

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
  /** `round-number`: part of the operation's texts, so that they are recognised in the database. */
  readonly key: string;
  readonly name: OperationName;
  /** The session of the operation; for `open`, only the result has it. */
  readonly session?: string;
  /** The number of messages that it writes. */
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
  /** The number of its first line among all lines of all processes. */
  readonly begunAt: number;
  /** The number of its second line. */
  doneAt?: number;
  /** Undefined during the operation, and if the process was killed before the answer. */
  result?: Result;
  refused?: string;
}

export interface Heard {
  /** Operations that had started and were not answered. */
  readonly open: number;
  readonly failed: string[];
  /** Operations that were refused for lack of space. */
  readonly full: number;
  readonly synchronous: number[];
}

/** Adds the lines of one process to the journal. `from` is the number of lines of the processes before it. */
export function record(journal: Operation[], lines: readonly Line[], from: number): Heard {
  const open = new Map<string, Operation>();
  const failed: string[] = [];
  const synchronous: number[] = [];
  let full = 0;
  for (const [index, line] of lines.entries()) {
    if (line.say === "open") synchronous.push(line.synchronous);
    if (line.say === "begin") {
      const { say: _say, ...begun } = line;
      const operation: Operation = { ...begun, begunAt: from + index };
      open.set(begun.key, operation);
      journal.push(operation);
    }
    if (line.say === "done" || line.say === "refused" || line.say === "failed") {
      const operation = open.get(line.key);
      open.delete(line.key);
      if (operation === undefined) continue;
      operation.doneAt = from + index;
      if (line.say === "done") operation.result = line.result;
      else if (line.say === "refused") operation.refused = line.code;
      else failed.push(`${line.key}: ${line.error}`);
      if (line.say === "refused" && line.code === "disk_full") full += 1;
    }
  }
  return { open: open.size, failed, full, synchronous };
}
