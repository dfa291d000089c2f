import type { Mutation } from "./mutation.ts";

/** The store on PostgreSQL: locks, commits, notifications. */
export const STORES: readonly Mutation[] = [
  {
    file: "src/stores/postgres/transaction-runner.ts",
    find: "if (await isCommitted(pool, error, deadline, database)) return error.value as Result;",
    replace: "",
    breaks: "A write that was committed although the connection was lost is not run again.",
    noticedBy: ["test/postgres-commit.test.ts"],
  },
  {
    file: "src/stores/postgres/transaction.ts",
    find: "    throw new UnknownOutcomeError(transaction, value, error);",
    replace: "    throw error;",
    breaks: "A connection that is lost during COMMIT is an unknown outcome, not a failure.",
    noticedBy: ["test/postgres-commit.test.ts"],
  },
  {
    file: "src/stores/postgres/find-outcome.ts",
    find: 'if (found.status === "in progress" && isSameServer && endsBackend)',
    replace: 'if (found.status === "")',
    breaks: "A transaction that nobody will commit is ended at once.",
    noticedBy: ["test/postgres-commit.test.ts"],
  },
  {
    file: "src/stores/postgres/transaction.ts",
    find: "  if (failure !== undefined) throw failure.error;",
    replace: "",
    breaks: "A write fails if one of its statements fails, also one whose result nobody reads.",
    noticedBy: ["src/stores/postgres/store.test.ts"],
  },
  {
    file: "src/stores/postgres/transaction-runner.ts",
    find: "          isWide = true;",
    replace: "          throw error;",
    breaks: "An operation that leaves its scope starts again with the whole database locked.",
    noticedBy: ["src/stores/postgres/store.test.ts"],
  },
  {
    file: "src/stores/postgres/transaction-runner.ts",
    find: "queue.run(call.scopes, () => write(call))",
    replace: "write(call)",
    breaks: "The calls of one process to the same rows keep their order.",
    noticedBy: ["test/postgres-outages.test.ts"],
  },
  {
    file: "src/stores/postgres/locks.ts",
    find: "scopes.flatMap(findChats)",
    replace: "[]",
    breaks: "A write to a chat locks it.",
    noticedBy: ["src/stores/postgres/store.test.ts"],
  },
  {
    file: "src/stores/postgres/locks.ts",
    find: "scopes.flatMap(findSessions)",
    replace: "[]",
    breaks: "A write to a session locks it: two stores lose no update.",
    noticedBy: ["src/stores/postgres/store.test.ts"],
  },
  {
    file: "src/stores/postgres/change-feed.ts",
    find: "      publisher.publish();",
    replace: "",
    breaks: "Other processes hear of a commit.",
    noticedBy: ["src/stores/postgres/contract.test.ts"],
  },
  {
    file: "src/stores/postgres/change-feed.ts",
    find: "      await Promise.race([publisher.drain(), pause(LAST_NOTIFICATION_MS, stop.signal)]);",
    replace: "",
    breaks: "Other processes hear of the last write of a process that ends.",
    noticedBy: ["src/stores/postgres/store.test.ts"],
  },
  {
    file: "src/stores/postgres/change-feed.ts",
    find: "        feed.notify();",
    replace: "",
    breaks: "Listeners hear of commits that happened while the connection was lost.",
    noticedBy: ["test/postgres-outages.test.ts"],
  },
];
