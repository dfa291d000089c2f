import type { AccessReads, AccessSteps } from "../../ports/access.ts";
import type { MemoryReads, MemorySteps } from "../../ports/memory.ts";
import type { OutboxReads, OutboxSteps } from "../../ports/outbox.ts";
import type { ProcessReads, ProcessSteps } from "../../ports/processes.ts";
import type { Reads, RunnerSteps, SessionSteps, Steps } from "../../ports/store.ts";
import { setRole } from "./access.ts";
import { append } from "./append.ts";
import { answerApproval, createApproval, moveApprovalDeadline, removeApprovalRule } from "./approvals.ts";
import { attach } from "./attaching.ts";
import { changeView, fork } from "./change-view.ts";
import { acceptCommand } from "./command-inbox.ts";
import type { Db } from "./connection.ts";
import { changeConversationSettings } from "./conversation-settings.ts";
import { beginDelivery, enqueue, settle } from "./deliveries.ts";
import { beginDraft, recordDraftOutcome } from "./drafts.ts";
import { erasePerson } from "./erase-person.ts";
import { clampActivity, expireConversation } from "./expiry.ts";
import { claimFlush, finishFlush, requestFlush } from "./flushes.ts";
import { clearGuesses, countGuess } from "./guesses.ts";
import { removeHomeChannel, setHomeChannel } from "./homes.ts";
import { importMessages, importSession } from "./import-session.ts";
import { editInbound } from "./inbound-edits.ts";
import { moveCursor } from "./inbox.ts";
import { linkAccount } from "./link-account.ts";
import { changeMemory, restoreMemory } from "./memory.ts";
import { redeemPairing, requestPairing } from "./pairing.ts";
import {
  adoptProcesses,
  appendProcessOutput,
  beginProcess,
  endProcess,
  markProcessReported,
  markProcessRunning,
  recordProcessInput,
} from "./processes.ts";
import { purgeFinished } from "./purge-finished.ts";
import { prune, remove } from "./removal.ts";
import { open } from "./routing.ts";
import { acquireLease, recordHeartbeat, releaseLease, retire } from "./runners.ts";
import { change, create, hold, recordUsage, release, setTitle } from "./sessions.ts";
import { reset, switchTo } from "./switching.ts";
import { accept, acceptMany, cancelPending, claim, finish, markResetNotified, saveDraft } from "./turns.ts";
import { wakeAgent } from "./wake-agent.ts";

/** A port's methods as they are on a connection: at once, with the connection in front. */
export type ConnectionMethods<Port> = {
  [Name in keyof Port]: Port[Name] extends () => Promise<infer Output>
    ? (db: Db) => Output
    : Port[Name] extends (input: infer Input) => Promise<infer Output>
      ? (db: Db, input: Input) => Output
      : never;
};

export type StoreWrites = Steps &
  OutboxSteps &
  AccessSteps &
  ProcessSteps &
  MemorySteps &
  SessionSteps &
  RunnerSteps;
export type StoreReads = Reads & OutboxReads & AccessReads & ProcessReads & MemoryReads;

/** Everything that writes. Each runs inside a transaction that the writer opens and commits. */
export const WRITE_OPERATIONS: ConnectionMethods<StoreWrites> = {
  open,
  accept,
  acceptMany,
  moveCursor,
  claim,
  append,
  saveDraft,
  finish,
  acceptCommand,
  editInbound,
  beginDelivery,
  settle,
  enqueue,
  beginDraft,
  recordDraftOutcome,
  cancelPending,
  markResetNotified,
  expireConversation,
  clampActivity,
  purgeFinished,
  requestPairing,
  countGuess,
  clearGuesses,
  redeemPairing,
  linkAccount,
  setRole,
  createApproval,
  answerApproval,
  moveApprovalDeadline,
  removeApprovalRule,
  beginProcess,
  markProcessRunning,
  appendProcessOutput,
  endProcess,
  adoptProcesses,
  recordProcessInput,
  markProcessReported,
  wakeAgent,
  changeMemory,
  restoreMemory,
  requestFlush,
  claimFlush,
  finishFlush,
  create,
  reset,
  switchTo,
  attach,
  changeView,
  fork,
  setTitle,
  change,
  changeConversationSettings,
  setHomeChannel,
  removeHomeChannel,
  recordUsage,
  remove,
  prune,
  hold,
  release,
  importSession,
  importMessages,
  erasePerson,
  recordHeartbeat,
  retire,
  acquireLease,
  releaseLease,
};

export interface WriteCall {
  readonly name: keyof StoreWrites;
  readonly input: unknown;
}

export type CallOutcome = { readonly value: unknown } | { readonly error: unknown };

export type StoreOperation = (db: Db, input: unknown) => unknown;

export function getWriteOperation(name: keyof StoreWrites): StoreOperation {
  return WRITE_OPERATIONS[name] as StoreOperation;
}
