import type { Store } from "../../ports/store.ts";
import type { Db } from "./db.ts";

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

interface OperationEntry<Name extends PropertyKey, Method> {
  readonly kind: OperationKind;
  /** The module that exports the operation under its own name. */
  load(): Promise<{ readonly [Key in Name]: OnConnection<Method> }>;
}

type OperationTable = {
  readonly [Facet in keyof Facets]: {
    readonly [Name in keyof Facets[Facet]]: OperationEntry<Name, Facets[Facet][Name]>;
  };
};

function define<Kind extends OperationKind>(kind: Kind) {
  return <Module>(load: () => Promise<Module>) => ({ kind, load });
}
const read = define("read");
const readLong = define("readLong");
const write = define("write");
const tryWrite = define("tryWrite");

/** Every operation, listed once. Modules load on first use: a short command pays only for the operations that it needs. */
export const OPERATIONS: OperationTable = {
  conversations: {
    open: write(() => import("./routing.ts")),
    markResetNotified: write(() => import("./turns.ts")),
    expireConversation: write(() => import("./expiry.ts")),
    clampActivity: write(() => import("./expiry.ts")),
    reset: write(() => import("./switching.ts")),
    switchTo: write(() => import("./switching.ts")),
    attach: write(() => import("./attaching.ts")),
    changeConversationSettings: write(() => import("./conversation-settings.ts")),
    setHomeChannel: write(() => import("./homes.ts")),
    removeHomeChannel: write(() => import("./homes.ts")),
    findConversations: read(() => import("./session-reads.ts")),
    listConversations: read(() => import("./list-conversations.ts")),
    listDecisions: read(() => import("./session-reads.ts")),
    findConversationsByKey: read(() => import("./diagnostics.ts")),
    listIdle: readLong(() => import("./expiry.ts")),
    listHomeChannels: read(() => import("./homes.ts")),
  },
  sessions: {
    create: write(() => import("./sessions.ts")),
    fork: write(() => import("./change-view.ts")),
    setTitle: write(() => import("./sessions.ts")),
    change: write(() => import("./sessions.ts")),
    recordUsage: write(() => import("./sessions.ts")),
    remove: write(() => import("./removal.ts")),
    prune: write(() => import("./removal.ts")),
    hold: write(() => import("./sessions.ts")),
    release: write(() => import("./sessions.ts")),
    importSession: write(() => import("./import-session.ts")),
    importMessages: write(() => import("./import-session.ts")),
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
    append: write(() => import("./append.ts")),
    changeView: write(() => import("./change-view.ts")),
    readHistory: read(() => import("./session-reads.ts")),
    listMessages: read(() => import("./session-reads.ts")),
    getViewRanges: read(() => import("./session-reads.ts")),
    listVersions: read(() => import("./session-reads.ts")),
    readBlob: readLong(() => import("./session-reads.ts")),
    searchMessages: readLong(() => import("./search.ts")),
    countUnindexed: readLong(() => import("./search.ts")),
  },
  inbox: {
    accept: write(() => import("./turns.ts")),
    acceptMany: write(() => import("./turns.ts")),
    moveCursor: write(() => import("./inbox.ts")),
    acceptCommand: write(() => import("./command-inbox.ts")),
    editInbound: write(() => import("./inbound-edits.ts")),
    cancelPending: write(() => import("./turns.ts")),
    listPending: read(() => import("./session-reads.ts")),
    getCursor: read(() => import("./session-reads.ts")),
    findInbound: readLong(() => import("./diagnostics.ts")),
    listOrphanedCommands: read(() => import("./command-inbox.ts")),
  },
  turns: {
    claim: tryWrite(() => import("./turns.ts")),
    saveDraft: write(() => import("./turns.ts")),
    finish: write(() => import("./turns.ts")),
    getDraft: read(() => import("./session-reads.ts")),
    listClaimable: read(() => import("./session-reads.ts")),
  },
  outbox: {
    beginDelivery: tryWrite(() => import("./deliveries.ts")),
    settle: write(() => import("./deliveries.ts")),
    enqueue: write(() => import("./deliveries.ts")),
    beginDraft: write(() => import("./drafts.ts")),
    recordDraftOutcome: write(() => import("./drafts.ts")),
    getDelivery: read(() => import("./deliveries.ts")),
    listPendingDeliveries: read(() => import("./deliveries.ts")),
    listDeferredDeliveries: read(() => import("./deliveries.ts")),
    listOrphanedDeliveries: read(() => import("./deliveries.ts")),
  },
  access: {
    requestPairing: write(() => import("./pairing.ts")),
    countGuess: write(() => import("./guesses.ts")),
    clearGuesses: write(() => import("./guesses.ts")),
    redeemPairing: write(() => import("./pairing.ts")),
    linkAccount: write(() => import("./link-account.ts")),
    setRole: write(() => import("./access.ts")),
    createApproval: write(() => import("./approvals.ts")),
    answerApproval: write(() => import("./approvals.ts")),
    moveApprovalDeadline: write(() => import("./approvals.ts")),
    removeApprovalRule: write(() => import("./approvals.ts")),
    erasePerson: write(() => import("./erase-person.ts")),
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
    beginProcess: write(() => import("./processes.ts")),
    markProcessRunning: write(() => import("./processes.ts")),
    appendProcessOutput: write(() => import("./processes.ts")),
    endProcess: write(() => import("./processes.ts")),
    adoptProcesses: write(() => import("./processes.ts")),
    recordProcessInput: write(() => import("./processes.ts")),
    markProcessReported: tryWrite(() => import("./processes.ts")),
    wakeAgent: write(() => import("./wake-agent.ts")),
    getProcess: read(() => import("./process-reads.ts")),
    listProcesses: read(() => import("./process-reads.ts")),
    readProcessOutput: read(() => import("./process-reads.ts")),
    listWatchedProcesses: read(() => import("./process-reads.ts")),
  },
  memory: {
    changeMemory: write(() => import("./memory.ts")),
    restoreMemory: write(() => import("./memory.ts")),
    requestFlush: tryWrite(() => import("./flushes.ts")),
    claimFlush: tryWrite(() => import("./flushes.ts")),
    finishFlush: write(() => import("./flushes.ts")),
    getMemory: read(() => import("./memory.ts")),
    listMemoryVersions: read(() => import("./memory.ts")),
  },
  runners: {
    recordHeartbeat: write(() => import("./runners.ts")),
    retire: write(() => import("./runners.ts")),
    acquireLease: tryWrite(() => import("./runners.ts")),
    releaseLease: write(() => import("./runners.ts")),
    listLeases: read(() => import("./runners.ts")),
  },
  upkeep: {
    purgeFinished: write(() => import("./purge-finished.ts")),
  },
};

export type StoreOperation = (db: Db, input: unknown) => unknown;

type AnyFacet = Readonly<
  Record<string, { readonly kind: OperationKind; load(): Promise<Readonly<Record<string, unknown>>> }>
>;

interface NamedOperation {
  readonly name: string;
  readonly kind: OperationKind;
  load(): Promise<StoreOperation>;
}

/** The operations by name, of all facets: no two facets share a name. */
const BY_NAME: ReadonlyMap<string, NamedOperation> = new Map(
  Object.values(OPERATIONS).flatMap((facet) =>
    Object.entries(facet as AnyFacet).map(([name, { kind, load }]): [string, NamedOperation] => [
      name,
      { name, kind, load: async () => (await load())[name] as StoreOperation },
    ]),
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
