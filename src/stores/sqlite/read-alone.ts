import type { Reads } from "../../ports/store.ts";
import type { On } from "./operations.ts";

type Loads<Operations> = { readonly [Name in keyof Operations]: () => Promise<Operations[Name]> };

/** Each read by itself, loaded when it is asked for: a short command pays only for the one it needs. */
export const READ_ALONE: Loads<On<Reads>> = {
  find: async () => (await import("./reading.ts")).find,
  findByTitle: async () => (await import("./reading.ts")).findByTitle,
  conversations: async () => (await import("./reading.ts")).conversations,
  history: async () => (await import("./reading.ts")).history,
  messages: async () => (await import("./reading.ts")).messages,
  shape: async () => (await import("./reading.ts")).shape,
  versions: async () => (await import("./reading.ts")).versions,
  waiting: async () => (await import("./reading.ts")).waiting,
  decisions: async () => (await import("./reading.ts")).decisions,
  blob: async () => (await import("./reading.ts")).blob,
  hasOther: async () => (await import("./reading.ts")).hasOther,
  work: async () => (await import("./reading.ts")).work,
  cursor: async () => (await import("./reading.ts")).cursor,
  surroundings: async () => (await import("./surroundings.ts")).surroundings,
  conversationsByKey: async () => (await import("./surroundings.ts")).conversationsByKey,
  arrivals: async () => (await import("./surroundings.ts")).arrivals,
  deliveries: async () => (await import("./deliveries.ts")).deliveries,
  list: async () => (await import("./listing.ts")).list,
  stats: async () => (await import("./listing.ts")).stats,
  search: async () => (await import("./search.ts")).search,
  personData: async () => (await import("./person-data.ts")).personData,
};
