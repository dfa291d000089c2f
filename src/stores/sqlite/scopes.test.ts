import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openScopedStore, type ScopedStore } from "../../../test/support/scoped-store.ts";
import type { Store } from "../../ports/store.ts";
import { localRunner } from "../../system/local-runner.ts";
import { readStartTicks } from "../../system/process-identity.ts";
import { type StoreHarness, storeContract } from "../../testing/index.ts";
import { findOperation, OPERATIONS } from "../sql/operations.ts";

const written = new Set<string>();

describe("a write touches only rows of its scope", () => {
  storeContract({ describe, it }, scopedHarness());

  afterAll(() => {
    const writes = Object.values(OPERATIONS)
      .flatMap((facet) => Object.keys(facet))
      .filter((name) => !findOperation(name).kind.startsWith("read"));
    expect(writes.filter((name) => !written.has(name))).toEqual([]);
  });
});

function scopedHarness(): StoreHarness {
  const opened = new Map<Store, ScopedStore & { readonly folder: string }>();
  const openIn = async (folder: string): Promise<Store> => {
    const scoped = await openScopedStore(join(folder, "postrider.db"), (name) => written.add(name));
    opened.set(scoped.store, { ...scoped, folder });
    return scoped.store;
  };
  return {
    open: async () => openIn(await mkdtemp(join(tmpdir(), "postrider-scopes-"))),
    async reopen(store) {
      await store.close();
      return openIn(opened.get(store)?.folder ?? "");
    },
    async destroy() {
      for (const [store, { folder }] of opened) {
        await store.close();
        await rm(folder, { recursive: true, force: true });
      }
      opened.clear();
    },
    waitUntilIdle: async (store) => opened.get(store)?.index(),
    // No process has this pid: the kernel assigns none beyond 2^22.
    deadRunner: () => ({ ...localRunner(), pid: 4_194_999 }),
    silentRunner: () => ({
      ...localRunner(),
      pid: process.ppid,
      started: readStartTicks(process.ppid) ?? "",
    }),
    ownRunner: () => localRunner(),
  };
}
