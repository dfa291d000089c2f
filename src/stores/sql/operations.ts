import type { Store } from "../../ports/store.ts";
import type { Db } from "./db.ts";
import {
  type Scope,
  scopeToAnswered,
  scopeToApproval,
  scopeToAttachment,
  scopeToChat,
  scopeToChats,
  scopeToConversation,
  scopeToCursor,
  scopeToDatabase,
  scopeToDelivery,
  scopeToFlush,
  scopeToHome,
  scopeToName,
  scopeToNewRows,
  scopeToProcess,
  scopeToReport,
  scopeToRunner,
  scopeToSession,
  scopeToSwitch,
  scopeToTurn,
} from "./scope.ts";

/** The parts of the store's port that have operations. */
export type Facets = Omit<Store, "onChange" | "close">;

/** A method of the port as a synchronous function of a connection and an input. */
export type OnConnection<Method> = Method extends () => Promise<infer Output>
  ? (db: Db) => Output
  : Method extends (input: infer Input) => Promise<infer Output>
    ? (db: Db, input: Input) => Output
    : never;

/**
 * - `read`: a short read by key, which may run on the main thread.
 * - `readLong`: a read that may touch many rows, and never runs on the main thread.
 * - `write`: runs inside a transaction that the writer opens and commits.
 * - `tryWrite`: a write that changed nothing if it returns `undefined` or `false`.
 */
export type OperationKind = "read" | "readLong" | "write" | "tryWrite";

type InputOf<Method> = Method extends (input: infer Input) => unknown ? Input : never;

interface Loader<Name extends PropertyKey, Method> {
  /** The module that exports the operation under its own name. */
  load(): Promise<{ readonly [Key in Name]: OnConnection<Method> }>;
}

type OperationEntry<Name extends PropertyKey, Method> = Loader<Name, Method> &
  (
    | { readonly kind: "read" | "readLong" }
    /** `scope`: the parts of the database that a call with this input touches. */
    | { readonly kind: "write" | "tryWrite"; scope(input: InputOf<Method>): readonly Scope[] }
  );

type OperationTable = {
  readonly [Facet in keyof Facets]: {
    readonly [Name in keyof Facets[Facet]]: OperationEntry<Name, Facets[Facet][Name]>;
  };
};

function defineRead<Kind extends OperationKind>(kind: Kind) {
  return <Module>(load: () => Promise<Module>) => ({ kind, load });
}
function defineWrite<Kind extends OperationKind>(kind: Kind) {
  return <Module, Input>(scope: (input: Input) => readonly Scope[], load: () => Promise<Module>) => ({
    kind,
    load,
    scope,
  });
}
const read = defineRead("read");
const readLong = defineRead("readLong");
const write = defineWrite("write");
const tryWrite = defineWrite("tryWrite");

/** Every operation, listed once. Modules load on first use: a short command pays only for the operations that it needs. */
export const OPERATIONS: OperationTable = {
  conversations: {
    open: write(scopeToChat, () => import("./routing.ts")),
    markResetNotified: write(scopeToConversation, () => import("./turns.ts")),
    expireConversation: write(scopeToConversation, () => import("./expiry.ts")),
    clampActivity: write(scopeToDatabase, () => import("./expiry.ts")),
    reset: write(scopeToConversation, () => import("./switching.ts")),
    switchTo: write(scopeToSwitch, () => import("./switching.ts")),
    attach: write(scopeToAttachment, () => import("./attaching.ts")),
    changeConversationSettings: write(scopeToConversation, () => import("./conversation-settings.ts")),
    setHomeChannel: write(scopeToHome, () => import("./homes.ts")),
    removeHomeChannel: write(scopeToName("homes", "platform"), () => import("./homes.ts")),
    findConversations: read(() => import("./session-reads.ts")),
    listConversations: read(() => import("./list-conversations.ts")),
    listDecisions: read(() => import("./session-reads.ts")),
    findConversationsByKey: read(() => import("./diagnostics.ts")),
    listIdle: readLong(() => import("./expiry.ts")),
    listHomeChannels: read(() => import("./homes.ts")),
  },
  sessions: {
    create: write(scopeToNewRows, () => import("./sessions.ts")),
    fork: write(scopeToSession, () => import("./change-view.ts")),
    setTitle: write(scopeToSession, () => import("./sessions.ts")),
    change: write(scopeToSession, () => import("./sessions.ts")),
    recordUsage: write(scopeToSession, () => import("./sessions.ts")),
    remove: write(scopeToDatabase, () => import("./removal.ts")),
    prune: write(scopeToDatabase, () => import("./removal.ts")),
    hold: write(scopeToSession, () => import("./sessions.ts")),
    release: write(scopeToSession, () => import("./sessions.ts")),
    importSession: write(scopeToDatabase, () => import("./import-session.ts")),
    importMessages: write(scopeToSession, () => import("./import-session.ts")),
    getSession: read(() => import("./session-reads.ts")),
    find: read(() => import("./session-reads.ts")),
    findByTitle: read(() => import("./session-reads.ts")),
    hasOther: read(() => import("./session-reads.ts")),
    getDiagnostics: readLong(() => import("./diagnostics.ts")),
    querySessions: readLong(() => import("./query-sessions.ts")),
    getStats: readLong(() => import("./query-sessions.ts")),
    getInsights: readLong(() => import("./insights.ts")),
    listUsageEntries: read(() => import("./usage.ts")),
  },
  messages: {
    append: write(scopeToSession, () => import("./append.ts")),
    changeView: write(scopeToSession, () => import("./change-view.ts")),
    readHistory: read(() => import("./session-reads.ts")),
    listMessages: read(() => import("./session-reads.ts")),
    getViewRanges: read(() => import("./session-reads.ts")),
    listVersions: read(() => import("./session-reads.ts")),
    readBlob: readLong(() => import("./session-reads.ts")),
    searchMessages: readLong(() => import("./search.ts")),
    countUnindexed: readLong(() => import("./search.ts")),
  },
  inbox: {
    accept: write(scopeToChat, () => import("./turns.ts")),
    acceptMany: write(scopeToChats, () => import("./turns.ts")),
    moveCursor: write(scopeToCursor, () => import("./inbox.ts")),
    acceptCommand: write(scopeToChat, () => import("./command-inbox.ts")),
    editInbound: write(scopeToChat, () => import("./inbound-edits.ts")),
    cancelPending: write(scopeToConversation, () => import("./turns.ts")),
    listPending: read(() => import("./session-reads.ts")),
    getCursor: read(() => import("./session-reads.ts")),
    findInbound: readLong(() => import("./diagnostics.ts")),
    listOrphanedCommands: read(() => import("./command-inbox.ts")),
  },
  turns: {
    claim: tryWrite(scopeToSession, () => import("./turns.ts")),
    saveDraft: write(scopeToTurn, () => import("./turns.ts")),
    finish: write(scopeToTurn, () => import("./turns.ts")),
    requestStop: tryWrite(scopeToConversation, () => import("./requests.ts")),
    isSessionAnswering: read(() => import("./requests.ts")),
    getDraft: read(() => import("./session-reads.ts")),
    listClaimable: read(() => import("./session-reads.ts")),
  },
  outbox: {
    beginDelivery: tryWrite(scopeToDelivery, () => import("./deliveries.ts")),
    settle: write(scopeToDelivery, () => import("./deliveries.ts")),
    enqueue: write(scopeToAnswered, () => import("./deliveries.ts")),
    beginDraft: write(scopeToTurn, () => import("./drafts.ts")),
    recordDraftOutcome: write(scopeToDelivery, () => import("./drafts.ts")),
    getDelivery: read(() => import("./deliveries.ts")),
    listPendingDeliveries: read(() => import("./deliveries.ts")),
    listDeferredDeliveries: read(() => import("./deliveries.ts")),
    listOrphanedDeliveries: read(() => import("./deliveries.ts")),
  },
  access: {
    requestPairing: write(scopeToDatabase, () => import("./pairing.ts")),
    countGuess: write(scopeToName("guesses", "name"), () => import("./guesses.ts")),
    clearGuesses: write(scopeToName("guesses", "name"), () => import("./guesses.ts")),
    redeemPairing: write(scopeToDatabase, () => import("./pairing.ts")),
    linkAccount: write(scopeToDatabase, () => import("./link-account.ts")),
    setRole: write(scopeToName("people", "person"), () => import("./access.ts")),
    createApproval: write(scopeToTurn, () => import("./approvals.ts")),
    answerApproval: write(scopeToApproval, () => import("./approvals.ts")),
    moveApprovalDeadline: write(scopeToApproval, () => import("./approvals.ts")),
    removeApprovalRule: write(scopeToName("people", "person"), () => import("./approvals.ts")),
    erasePerson: write(scopeToDatabase, () => import("./erase-person.ts")),
    getAccount: read(() => import("./access.ts")),
    listGrants: read(() => import("./access.ts")),
    listPairings: read(() => import("./pairing.ts")),
    listApprovals: read(() => import("./approvals.ts")),
    getApproval: read(() => import("./approvals.ts")),
    checkApprovalRules: read(() => import("./approvals.ts")),
    listApprovalRules: read(() => import("./approvals.ts")),
    readPersonData: readLong(() => import("./person-data.ts")),
  },
  processes: {
    beginProcess: write(scopeToSession, () => import("./processes.ts")),
    markProcessRunning: write(scopeToProcess, () => import("./processes.ts")),
    appendProcessOutput: write(scopeToProcess, () => import("./processes.ts")),
    endProcess: write(scopeToProcess, () => import("./processes.ts")),
    adoptProcesses: write(scopeToDatabase, () => import("./processes.ts")),
    recordProcessInput: write(scopeToProcess, () => import("./processes.ts")),
    markProcessReported: tryWrite(scopeToReport, () => import("./processes.ts")),
    wakeAgent: write(scopeToReport, () => import("./wake-agent.ts")),
    getProcess: read(() => import("./process-reads.ts")),
    listProcesses: read(() => import("./process-reads.ts")),
    readProcessOutput: read(() => import("./process-reads.ts")),
    listWatchedProcesses: read(() => import("./process-reads.ts")),
  },
  memory: {
    changeMemory: write(scopeToName("memories", "owner"), () => import("./memory.ts")),
    restoreMemory: write(scopeToName("memories", "owner"), () => import("./memory.ts")),
    requestFlush: tryWrite(scopeToSession, () => import("./flushes.ts")),
    claimFlush: tryWrite(scopeToDatabase, () => import("./flushes.ts")),
    finishFlush: write(scopeToFlush, () => import("./flushes.ts")),
    getMemory: read(() => import("./memory.ts")),
    listMemoryVersions: read(() => import("./memory.ts")),
  },
  runners: {
    recordHeartbeat: write(scopeToRunner, () => import("./runners.ts")),
    retire: write(scopeToDatabase, () => import("./runners.ts")),
    acquireLease: tryWrite(scopeToName("leases", "name"), () => import("./runners.ts")),
    releaseLease: write(scopeToName("leases", "name"), () => import("./runners.ts")),
    requestDrain: tryWrite(scopeToName("runners", "runner"), () => import("./requests.ts")),
    getRequests: read(() => import("./requests.ts")),
    listLeases: read(() => import("./runners.ts")),
  },
  upkeep: {
    purgeFinished: write(scopeToDatabase, () => import("./purge-finished.ts")),
  },
};

export type StoreOperation = (db: Db, input: unknown) => unknown;

interface AnyEntry {
  readonly kind: OperationKind;
  scope?(input: unknown): readonly Scope[];
  load(): Promise<Readonly<Record<string, unknown>>>;
}

interface NamedOperation {
  readonly name: string;
  readonly kind: OperationKind;
  /** Empty for a read. */
  scope(input: unknown): readonly Scope[];
  load(): Promise<StoreOperation>;
}

/** The operations by name, of all facets: no two facets share a name. */
const BY_NAME: ReadonlyMap<string, NamedOperation> = new Map(
  Object.values(OPERATIONS).flatMap((facet) =>
    Object.entries(facet as Readonly<Record<string, AnyEntry>>).map(
      ([name, { kind, scope = () => [], load }]): [string, NamedOperation] => [
        name,
        { name, kind, scope, load: async () => (await load())[name] as StoreOperation },
      ],
    ),
  ),
);

export function findOperation(name: string): NamedOperation {
  const found = BY_NAME.get(name);
  if (found === undefined) throw new Error(`the store has no operation ${name}`);
  return found;
}

export type LoadedOperations = ReadonlyMap<string, StoreOperation>;

/** Loads every operation of these kinds, so that they can be called synchronously. */
export async function loadOperations(...kinds: readonly OperationKind[]): Promise<LoadedOperations> {
  const selected = [...BY_NAME.values()].filter(({ kind }) => kinds.includes(kind));
  return new Map(await Promise.all(selected.map(async ({ name, load }) => [name, await load()] as const)));
}

/** Whether to notify listeners: a `tryWrite` without a result has changed nothing. */
export function hasWritten(name: string, value: unknown): boolean {
  return (value !== undefined && value !== false) || findOperation(name).kind !== "tryWrite";
}

export interface WriteCall {
  readonly name: string;
  readonly input: unknown;
}

export type CallOutcome = { readonly value: unknown } | { readonly error: unknown };
