import type { Runners, Shapes, Steps } from "../../ports/store.ts";
import { append } from "./append.ts";
import type { Db } from "./connection.ts";
import { settle } from "./deliveries.ts";
import { erasePerson } from "./erasure.ts";
import { prune, remove } from "./removal.ts";
import { open } from "./routing.ts";
import { beat, lease, retire, unlease } from "./runners.ts";
import { change, create, hold, recordUsage, release, setTitle } from "./sessions.ts";
import { fork, reshape } from "./shapes.ts";
import { reset, switchTo } from "./switching.ts";
import { importMore, importSession } from "./transfer.ts";
import { accept, cancelWaiting, claim, finish, markShown } from "./turns.ts";

/** A port's methods as they are on a connection: at once, with the connection in front. */
export type On<Port> = {
  [Name in keyof Port]: Port[Name] extends (input: infer Input) => Promise<infer Output>
    ? (db: Db, input: Input) => Output
    : never;
};

export type Writes = Steps & Shapes & Runners;

/** Everything that writes. Each runs inside a transaction that the writer opens and commits. */
export const WRITES: On<Writes> = {
  open,
  accept,
  claim,
  append,
  finish,
  settle,
  cancelWaiting,
  markShown,
  create,
  reset,
  switchTo,
  reshape,
  fork,
  setTitle,
  change,
  recordUsage,
  remove,
  prune,
  hold,
  release,
  importSession,
  importMore,
  erasePerson,
  beat,
  retire,
  lease,
  unlease,
};

export interface Call {
  readonly name: keyof Writes;
  readonly input: unknown;
}

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

export type Operation = (db: Db, input: unknown) => unknown;

export function write(name: keyof Writes): Operation {
  return WRITES[name] as Operation;
}
