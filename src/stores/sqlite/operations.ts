import type { AccessReads, AccessSteps } from "../../ports/access.ts";
import type { MemoryReads, MemorySteps } from "../../ports/memory.ts";
import type { OutboxReads, OutboxSteps } from "../../ports/outbox.ts";
import type { ProcessReads, ProcessSteps } from "../../ports/processes.ts";
import type { Reads, Runners, Shapes, Steps } from "../../ports/store.ts";
import { grant } from "./access.ts";
import { reconsider } from "./afterthoughts.ts";
import { append } from "./append.ts";
import { answerApproval, askApproval, forgetStanding, moveApprovalDeadline } from "./approvals.ts";
import { attach } from "./attaching.ts";
import { choose } from "./choosing.ts";
import { clear } from "./clearing.ts";
import type { Db } from "./connection.ts";
import { beginDelivery, enqueue, settle } from "./deliveries.ts";
import { beginDraft, noteDraft } from "./drafts.ts";
import { erasePerson } from "./erasure.ts";
import { expire, limitActivity } from "./expiry.ts";
import { askFlush, claimFlush, finishFlush } from "./flushes.ts";
import { clearGuesses, countGuess } from "./guesses.ts";
import { forgetHome, setHome } from "./homes.ts";
import { moveCursor } from "./inbox.ts";
import { acceptLine } from "./lines.ts";
import { link } from "./linking.ts";
import { changeMemory, restoreMemory } from "./memory.ts";
import { askPairing, usePairing } from "./pairing.ts";
import {
  adoptProcesses,
  beginProcess,
  endProcess,
  keepOutput,
  processRuns,
  recordProcessInput,
  tellProcess,
} from "./processes.ts";
import { prune, remove } from "./removal.ts";
import { open } from "./routing.ts";
import { beat, lease, retire, unlease } from "./runners.ts";
import { change, create, hold, recordUsage, release, setTitle } from "./sessions.ts";
import { fork, reshape } from "./shapes.ts";
import { reset, switchTo } from "./switching.ts";
import { importMore, importSession } from "./transfer.ts";
import { accept, acceptMany, cancelWaiting, claim, finish, keepSaid, markShown } from "./turns.ts";
import { wake } from "./waking.ts";

/** A port's methods as they are on a connection: at once, with the connection in front. */
export type On<Port> = {
  [Name in keyof Port]: Port[Name] extends () => Promise<infer Output>
    ? (db: Db) => Output
    : Port[Name] extends (input: infer Input) => Promise<infer Output>
      ? (db: Db, input: Input) => Output
      : never;
};

export type Writes = Steps & OutboxSteps & AccessSteps & ProcessSteps & MemorySteps & Shapes & Runners;
export type AllReads = Reads & OutboxReads & AccessReads & ProcessReads & MemoryReads;

/** Everything that writes. Each runs inside a transaction that the writer opens and commits. */
export const WRITES: On<Writes> = {
  open,
  accept,
  acceptMany,
  moveCursor,
  claim,
  append,
  keepSaid,
  finish,
  acceptLine,
  reconsider,
  beginDelivery,
  settle,
  enqueue,
  beginDraft,
  noteDraft,
  cancelWaiting,
  markShown,
  expire,
  limitActivity,
  clear,
  askPairing,
  countGuess,
  clearGuesses,
  usePairing,
  link,
  grant,
  askApproval,
  answerApproval,
  moveApprovalDeadline,
  forgetStanding,
  beginProcess,
  processRuns,
  keepOutput,
  endProcess,
  adoptProcesses,
  recordProcessInput,
  tellProcess,
  wake,
  changeMemory,
  restoreMemory,
  askFlush,
  claimFlush,
  finishFlush,
  create,
  reset,
  switchTo,
  attach,
  reshape,
  fork,
  setTitle,
  change,
  choose,
  setHome,
  forgetHome,
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
