/** Runs an order at a given instant, so that two processes run the same order at the same time. */
import module from "node:module";
import {
  createSessions,
  OWNER,
  PostriderError,
  type Sessions,
  type SourceInput,
  sqliteStore,
} from "../../src/index.ts";
import { say, told } from "../support/child.ts";
import { instant } from "../support/numbers.ts";
import { settings } from "../support/routing.ts";

export type Order =
  /** Open a store and keep it. */
  | { readonly do: "open store"; readonly file: string }
  /** The first message of each source, one every few milliseconds. */
  | {
      readonly do: "meet";
      readonly sources: readonly SourceInput[];
      readonly from: number;
      readonly everyMs: number;
    }
  /** The first message of one source, while the parent holds the write lock. */
  | { readonly do: "meet while locked"; readonly source: SourceInput; readonly index: number }
  /** Create a new database with one session. */
  | {
      readonly do: "make";
      readonly file: string;
      readonly session: string;
      readonly at: number;
      readonly mode: Mode;
    };

export type Mode = "workers" | "in-process";

export type Answer =
  | { readonly said: "ready" | "store open" }
  | { readonly said: "met"; readonly contacts: readonly Contact[] }
  /** The store has the request; the process cannot have its result before the lock is released. */
  | { readonly said: "asked"; readonly index: number }
  | { readonly said: "met while locked"; readonly index: number; readonly contact: Contact }
  | { readonly said: "made"; readonly session: string; readonly error?: string };

export interface Contact {
  readonly began: number;
  readonly ended: number;
  readonly session?: string;
  readonly conversation?: number;
  readonly created?: boolean;
  readonly error?: string;
}

module.enableCompileCache();
const tell = (answer: Answer): void => say(answer);
const { zone, reset } = settings;
let sessions: Sessions | undefined;
tell({ said: "ready" });

for await (const order of told<Order>()) {
  if (order.do === "open store") {
    sessions = createSessions({ store: await sqliteStore({ file: order.file }), zone, reset });
    tell({ said: "store open" });
  } else if (order.do === "meet") {
    const contacts: Contact[] = [];
    for (const [index, source] of order.sources.entries()) {
      await until(order.from + index * order.everyMs);
      contacts.push(await meet(source));
    }
    tell({ said: "met", contacts });
  } else if (order.do === "meet while locked") {
    const { source, index } = order;
    const meeting = meet(source);
    tell({ said: "asked", index });
    tell({ said: "met while locked", index, contact: await meeting });
  } else {
    const { file, session, mode } = order;
    await until(order.at);
    try {
      const store = await sqliteStore({ file, mode });
      await createSessions({ store }).create({ person: OWNER }, { id: session });
      await store.close();
      tell({ said: "made", session });
    } catch (error) {
      tell({ said: "made", session, error: explained(error) });
    }
  }
}
process.exit(0);

async function meet(source: SourceInput): Promise<Contact> {
  const began = instant();
  try {
    const opened = await sessions?.open(source);
    return {
      began,
      ended: instant(),
      ...(opened !== undefined && {
        session: opened.session.id,
        conversation: opened.conversation.number,
        created: opened.created,
      }),
    };
  } catch (error) {
    return { began, ended: instant(), error: explained(error) };
  }
}

/** Accurate to a fraction of a millisecond, unlike a timer: the last part is a busy wait. */
async function until(at: number): Promise<void> {
  const left = at - instant();
  if (left > 3) await new Promise((resolve) => setTimeout(resolve, left - 2));
  while (instant() < at);
}

function explained(error: unknown): string {
  return error instanceof PostriderError ? `${error.code}: ${error.message}` : String(error);
}
