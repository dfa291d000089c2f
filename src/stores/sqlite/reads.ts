import type { Reads } from "../../ports/store.ts";
import { deliveries } from "./deliveries.ts";
import { list, stats } from "./listing.ts";
import type { On, Operation } from "./operations.ts";
import { personData } from "./person-data.ts";
import * as reading from "./reading.ts";
import { search } from "./search.ts";
import { arrivals, conversationsByKey, surroundings } from "./surroundings.ts";

/** Everything that only reads: apart from what writes, because many commands need nothing else. */
export const READS: On<Reads> = {
  find: reading.find,
  findByTitle: reading.findByTitle,
  conversations: reading.conversations,
  history: reading.history,
  messages: reading.messages,
  shape: reading.shape,
  versions: reading.versions,
  waiting: reading.waiting,
  decisions: reading.decisions,
  blob: reading.blob,
  hasOther: reading.hasOther,
  work: reading.work,
  cursor: reading.cursor,
  surroundings,
  conversationsByKey,
  arrivals,
  deliveries,
  list,
  stats,
  search,
  personData,
};

/** Between the threads there is one read more, of places that were already looked up for someone. */
export function read(name: keyof Reads | "rows"): Operation {
  return (name === "rows" ? reading.rows : READS[name]) as Operation;
}
