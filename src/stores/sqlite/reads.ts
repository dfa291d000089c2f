import { account, grants } from "./access.ts";
import { approval, approvals, standing, standings } from "./approvals.ts";
import { deliveries, deliveriesAside, delivery, leftDeliveries } from "./deliveries.ts";
import { silent } from "./expiry.ts";
import { homes } from "./homes.ts";
import { insights } from "./insights.ts";
import { leftLines } from "./lines.ts";
import { listConversations } from "./list-conversations.ts";
import { list, stats } from "./listing.ts";
import { memory, memoryVersions } from "./memory.ts";
import type { AllReads, On, Operation } from "./operations.ts";
import { pairings } from "./pairing.ts";
import { personData } from "./person-data.ts";
import { process, processes, processOutput, watchedProcesses } from "./process-reads.ts";
import * as reading from "./reading.ts";
import { leases } from "./runners.ts";
import { search, unsearched } from "./search.ts";
import { arrivals, conversationsByKey, surroundings } from "./surroundings.ts";
import { usageEntries } from "./usage.ts";

/** Everything that only reads: apart from what writes, because many commands need nothing else. */
export const READS: On<AllReads> = {
  find: reading.find,
  findByTitle: reading.findByTitle,
  conversations: reading.conversations,
  listConversations,
  history: reading.history,
  messages: reading.messages,
  shape: reading.shape,
  versions: reading.versions,
  waiting: reading.waiting,
  growing: reading.growing,
  decisions: reading.decisions,
  blob: reading.blob,
  hasOther: reading.hasOther,
  work: reading.work,
  cursor: reading.cursor,
  surroundings,
  conversationsByKey,
  arrivals,
  delivery,
  deliveries,
  deliveriesAside,
  leftDeliveries,
  leftLines,
  list,
  stats,
  search,
  unsearched,
  silent,
  insights,
  usageEntries,
  homes,
  leases,
  account,
  grants,
  pairings,
  approvals,
  approval,
  standing,
  standings,
  process,
  processes,
  processOutput,
  watchedProcesses,
  memory,
  memoryVersions,
  personData,
};

/** Between the threads there is one read more, of places that were already looked up for someone. */
export function read(name: keyof AllReads | "rows"): Operation {
  return (name === "rows" ? reading.rows : READS[name]) as Operation;
}
