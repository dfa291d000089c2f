import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../src/ports/store.ts";
import { localRunner } from "../../src/system/local-runner.ts";
import { readStartTicks } from "../../src/system/process-identity.ts";
import type { StoreHarness } from "../../src/testing/index.ts";
import { writeNewDatabase } from "./new-database.ts";

/** A harness for the contract of a store in a SQLite file. */
export function fileHarness<FileStore extends Store>(
  openFile: (file: string) => Promise<FileStore>,
  waitUntilIdle: (store: FileStore, file: string) => Promise<void>,
): StoreHarness {
  let opened = new Map<Store, { readonly store: FileStore; readonly folder: string }>();
  const openIn = async (folder: string): Promise<Store> => {
    const store = await openFile(join(folder, "postrider.db"));
    opened.set(store, { store, folder });
    return store;
  };
  const find = (store: Store): { readonly store: FileStore; readonly folder: string } => {
    const found = opened.get(store);
    if (found === undefined) throw new Error("the harness has not opened this store");
    return found;
  };
  return {
    async open() {
      const folder = await mkdtemp(join(tmpdir(), "postrider-store-"));
      await writeNewDatabase(join(folder, "postrider.db"));
      return openIn(folder);
    },
    async reopen(store) {
      const { folder } = find(store);
      await store.close();
      return openIn(folder);
    },
    openSecond: (store) => openIn(find(store).folder),
    async destroy() {
      const done = [...opened.values()];
      opened = new Map();
      for (const { store } of done) await store.close();
      for (const { folder } of done) await rm(folder, { recursive: true, force: true });
    },
    waitUntilIdle: (store) => waitUntilIdle(find(store).store, join(find(store).folder, "postrider.db")),
    // No process has this pid: the kernel assigns none beyond 2^22.
    deadRunner: () => ({ ...localRunner(), host: hostname(), pid: 4_194_999 }),
    silentRunner: () => ({
      ...localRunner(),
      pid: process.ppid,
      started: readStartTicks(process.ppid) ?? "",
    }),
    ownRunner: () => localRunner(),
  };
}

/** The same without a second store on one file: for stores that only tests use, with one connection that writes. */
export function singleFileHarness<FileStore extends Store>(
  ...options: Parameters<typeof fileHarness<FileStore>>
): StoreHarness {
  const { openSecond: _, ...harness } = fileHarness(...options);
  return harness;
}
