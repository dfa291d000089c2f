import { getAccount, listGrants } from "./access.ts";
import { checkApprovalRules, getApproval, listApprovalRules, listApprovals } from "./approvals.ts";
import { listOrphanedCommands } from "./command-inbox.ts";
import {
  getDelivery,
  listDeferredDeliveries,
  listOrphanedDeliveries,
  listPendingDeliveries,
} from "./deliveries.ts";
import { findConversationsByKey, findInbound, getDiagnostics } from "./diagnostics.ts";
import { listIdle } from "./expiry.ts";
import { listHomeChannels } from "./homes.ts";
import { getInsights } from "./insights.ts";
import { listConversations } from "./list-conversations.ts";
import { getMemory, listMemoryVersions } from "./memory.ts";
import type { ConnectionMethods, StoreOperation, StoreReads } from "./operations.ts";
import { listPairings } from "./pairing.ts";
import { readPersonData } from "./person-data.ts";
import { getProcess, listProcesses, listWatchedProcesses, readProcessOutput } from "./process-reads.ts";
import { getStats, querySessions } from "./query-sessions.ts";
import { listLeases } from "./runners.ts";
import { countUnindexed, searchMessages } from "./search.ts";
import * as reading from "./session-reads.ts";
import { listUsageEntries } from "./usage.ts";

/** Everything that only reads: apart from what writes, because many commands need nothing else. */
export const READ_OPERATIONS: ConnectionMethods<StoreReads> = {
  find: reading.find,
  findByTitle: reading.findByTitle,
  findConversations: reading.findConversations,
  listConversations,
  readHistory: reading.readHistory,
  listMessages: reading.listMessages,
  getViewRanges: reading.getViewRanges,
  listVersions: reading.listVersions,
  listPending: reading.listPending,
  getDraft: reading.getDraft,
  listDecisions: reading.listDecisions,
  readBlob: reading.readBlob,
  hasOther: reading.hasOther,
  listClaimable: reading.listClaimable,
  getCursor: reading.getCursor,
  getDiagnostics,
  findConversationsByKey,
  findInbound,
  getDelivery,
  listPendingDeliveries,
  listDeferredDeliveries,
  listOrphanedDeliveries,
  listOrphanedCommands,
  querySessions,
  getStats,
  searchMessages,
  countUnindexed,
  listIdle,
  getInsights,
  listUsageEntries,
  listHomeChannels,
  listLeases,
  getAccount,
  listGrants,
  listPairings,
  listApprovals,
  getApproval,
  checkApprovalRules,
  listApprovalRules,
  getProcess,
  listProcesses,
  readProcessOutput,
  listWatchedProcesses,
  getMemory,
  listMemoryVersions,
  readPersonData,
};

/** Between the threads there is one read more, of places that were already looked up for someone. */
export function getReadOperation(name: keyof StoreReads | "rows"): StoreOperation {
  return (name === "rows" ? reading.readRunRows : READ_OPERATIONS[name]) as StoreOperation;
}
