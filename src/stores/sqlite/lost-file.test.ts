import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { PostriderError } from "../../core/errors.ts";
import type { Store } from "../../ports/store.ts";
import { localRunner } from "../../system/local-runner.ts";
import { sqliteStore } from "./store.ts";

const MODES = ["workers", "in-process"] as const;
let home: string;
let file: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "postrider-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  home = join(folder, "home");
  mkdirSync(home);
  file = join(home, "postrider.db");
});

async function opened(mode: "workers" | "in-process", onLost?: (error: PostriderError) => void) {
  const store = await sqliteStore({ file, mode, ...(onLost !== undefined && { onLost }) });
  onTestFinished(() => store.close());
  return store;
}

/** The store checks its files every few milliseconds. */
const untilNextLook = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10));
const runner = localRunner();
const beat = (store: Store, now: number): Promise<void> => store.runners.recordHeartbeat({ runner, now });
const heartbeatIn = (path: string): unknown => {
  const db = new Database(path, { readonly: true, fileMustExist: true });
  try {
    return db.prepare("select heartbeat from runners").pluck().get();
  } finally {
    db.close();
  }
};

const LOSSES: readonly (readonly [name: string, how: "removed" | "replaced", lose: () => void])[] = [
  ["the database is removed", "removed", () => rmSync(file)],
  ["the log is removed", "removed", () => rmSync(`${file}-wal`)],
  ["the shared memory is removed", "removed", () => rmSync(`${file}-shm`)],
  ["the home is removed", "removed", () => rmSync(home, { recursive: true })],
  [
    "the database is replaced by a copy of itself",
    "replaced",
    () => {
      copyFileSync(file, `${file}.other`);
      renameSync(`${file}.other`, file);
    },
  ],
  [
    "the log is replaced",
    "replaced",
    () => {
      writeFileSync(`${file}.other`, "");
      renameSync(`${file}.other`, `${file}-wal`);
    },
  ],
];

describe.each(MODES)("a store (%s) whose files are removed or replaced", (mode) => {
  it.each(LOSSES)("refuses all writes and saves all acknowledged data when %s", async (_, how, lose) => {
    const reported: PostriderError[] = [];
    const store = await opened(mode, (error) => reported.push(error));
    await beat(store, 1);
    await beat(store, 2);
    lose();
    await untilNextLook();
    const refused = await beat(store, 3).then(
      () => undefined,
      (error: PostriderError) => error,
    );
    expect(refused).toMatchObject({ code: "store_lost", details: { file, how } });
    const rescued = String(refused?.details.rescued);
    expect(refused?.message).toContain(`postrider restore ${rescued} --replace`);
    // It contains all acknowledged writes; refused ones may be in it, too.
    expect(heartbeatIn(rescued)).toBeGreaterThanOrEqual(2);
    expect(statSync(rescued).mode & 0o777).toBe(0o600);
    await expect(beat(store, 4)).rejects.toMatchObject({ code: "store_lost" });
    expect(reported).toHaveLength(1);
    const saved = readdirSync(dirname(rescued)).filter((name) => name.includes("rescued"));
    expect(saved, "one copy, nothing unfinished").toHaveLength(1);
  });

  it.runIf(process.platform === "linux")(
    "names the new path of a moved home, and makes no copy",
    async () => {
      const store = await opened(mode);
      await beat(store, 1);
      renameSync(home, `${home}-moved`);
      await untilNextLook();
      const movedTo = join(`${home}-moved`, "postrider.db");
      await expect(beat(store, 2)).rejects.toMatchObject({ code: "store_lost", details: { movedTo } });
      expect(heartbeatIn(movedTo)).toBeGreaterThanOrEqual(1);
      expect(existsSync(home)).toBe(false);
    },
  );

  it("continues when its log is checkpointed and truncated, by itself or by another process", async () => {
    const store = await opened(mode);
    await beat(store, 1);
    const other = new Database(file);
    other.pragma("wal_checkpoint(TRUNCATE)");
    other.close();
    await beat(store, 2);
    expect(heartbeatIn(file)).toBe(2);
  });

  it("works behind a symbolic link", async () => {
    const store = await opened(mode);
    await beat(store, 1);
    await store.close();
    const link = join(home, "link.db");
    symlinkSync(file, link);
    const linked = await sqliteStore({ file: link, mode });
    onTestFinished(() => linked.close());
    await beat(linked, 2);
    expect(heartbeatIn(file)).toBe(2);
  });
});

describe("a long read while the files are missing", () => {
  it("fails, and succeeds when they exist again", async () => {
    const store = await opened("workers");
    const aside = `${home}-aside`;
    const list = () => store.sessions.querySessions({ asker: { everyone: true }, limit: 10 });
    renameSync(home, aside);
    mkdirSync(home);
    await expect(list()).rejects.toMatchObject({ code: "read_only" });
    rmSync(home, { recursive: true });
    renameSync(aside, home);
    expect((await list()).items).toEqual([]);
  });
});
