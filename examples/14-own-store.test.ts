// The contract suite for an own store. A real driver talks to another database; this one counts what the SQLite store does, to
// show the harness. All types of the port are in postrider/store.
//
//   node --import ./examples/resolve.mjs --test examples/14-own-store.test.ts

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { sqliteStore } from "postrider";
import type { Store } from "postrider/store";
import { storeContract } from "postrider/testing";

const MAX_GROUPS = 12;
let groups = 0;
let calls = 0;

/** The same store, with its writes to the inbox counted. */
function countingStore(store: Store): Store {
  return {
    ...store,
    inbox: {
      ...store.inbox,
      accept(input) {
        calls += 1;
        return store.inbox.accept(input);
      },
    },
  };
}

const opened = new Map<Store, string>();

async function openIn(folder: string): Promise<Store> {
  const store = countingStore(await sqliteStore({ file: join(folder, "my.db"), mode: "in-process" }));
  opened.set(store, folder);
  return store;
}

describe("my store", () => {
  storeContract(
    // A driver is finished when all groups pass. To keep the example short, it runs a few of them.
    { describe: (name, body) => (groups++ < MAX_GROUPS ? describe(name, body) : undefined), it },
    {
      open: () => openIn(mkdtempSync(join(tmpdir(), "postrider-example-"))),
      async reopen(store) {
        await store.close();
        return openIn(opened.get(store) ?? "");
      },
      openSecond: (store) => openIn(opened.get(store) ?? ""),
      async destroy() {
        for (const store of opened.keys()) await store.close();
        for (const folder of opened.values()) rmSync(folder, { recursive: true, force: true });
        opened.clear();
      },
    },
  );
  after(() => console.log(`${calls} messages accepted`));
});
