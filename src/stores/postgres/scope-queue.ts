import type { Scope } from "../sql/scope.ts";

export interface ScopeQueue {
  /** Runs the work after all earlier work of the same scopes. Work that waits holds no connection. */
  run<Result>(scopes: readonly Scope[], work: () => Promise<Result>): Promise<Result>;
}

/** Keeps the order of the calls of this process: locks of the database would be given in any order. */
export function createScopeQueue(): ScopeQueue {
  /** The last work of each scope. */
  const last = new Map<string, Promise<unknown>>();
  let lastOfDatabase: Promise<unknown> | undefined;

  function findEarlier(keys: readonly string[] | "database"): Promise<unknown>[] {
    const earlier = keys === "database" ? [...last.values()] : keys.map((key) => last.get(key));
    return [...earlier, lastOfDatabase].filter((it) => it !== undefined);
  }

  return {
    run(scopes, work) {
      const keys = listKeys(scopes);
      const earlier = findEarlier(keys);
      const result = earlier.length === 0 ? work() : Promise.all(earlier).then(work);
      const done = result.then(ignore, ignore);
      if (keys === "database") {
        last.clear();
        lastOfDatabase = done;
        void done.then(() => {
          if (lastOfDatabase === done) lastOfDatabase = undefined;
        });
      } else {
        for (const key of keys) last.set(key, done);
        void done.then(() => {
          for (const key of keys) if (last.get(key) === done) last.delete(key);
        });
      }
      return result;
    },
  };
}

function ignore(): void {}

function listKeys(scopes: readonly Scope[]): readonly string[] | "database" {
  const keys: string[] = [];
  for (const scope of scopes) {
    switch (scope.kind) {
      case "database":
        return "database";
      case "new":
        // New rows need no order, but work without any scope must still be seen by work on the whole database.
        keys.push(`new ${crypto.randomUUID()}`);
        break;
      case "chat":
        keys.push(JSON.stringify([scope.profile, scope.source.platform, scope.source.chatId]));
        break;
      case "named":
        keys.push(`${scope.table} ${scope.name}`);
        break;
      case "session":
      case "process":
        keys.push(`${scope.kind} ${scope.id}`);
        break;
      default:
        keys.push(`${scope.kind} ${scope.number}`);
    }
  }
  return keys;
}
