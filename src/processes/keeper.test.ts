import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type KeeperRoom, keeperRoom, pause } from "../../test/support/keeper-room.ts";
import { PostriderError } from "../core/errors.ts";
import { localRunner, type Store } from "../index.ts";
import type { Log } from "../ports/log.ts";
import { systemClock } from "../system/system-clock.ts";
import { type KeeperOptions, runKeeper } from "./keeper.ts";
import { localBackend } from "./local-backend.ts";

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A keeper inside the test process, with its own store or shorter times. */
async function insideRoom(options: { readonly idleMs?: number; wrap?(store: Store): Store } = {}) {
  const ends: Promise<void>[] = [];
  const stop = new AbortController();
  const { wrap = (store) => store, idleMs = 60_000 } = options;
  function keeper(room: KeeperRoom, more: Partial<KeeperOptions> = {}): Promise<void> {
    const end = runKeeper({
      store: wrap(room.store),
      runner: localRunner(),
      backend: localBackend({ folder: join(room.home.folder, "processes") }),
      clock: systemClock,
      socket: room.socket,
      log: SILENT,
      idleMs,
      graceMs: 500,
      adoptMs: 100,
      signal: stop.signal,
      ...more,
    });
    ends.push(end);
    return end;
  }
  const room: KeeperRoom = await keeperRoom({ launch: () => void keeper(room) });
  onTestFinished(async () => {
    stop.abort();
    await Promise.all(ends);
  });
  return { room, keeper, ends };
}

describe("the keeper", () => {
  it("exits when it is idle, even with a connected client, and leaves no socket and no lease", async () => {
    const { room, ends } = await insideRoom({ idleMs: 300 });
    const { id } = await room.start("read -r; exit 1");
    const inTerminal = await room.start("exit 2", { pty: true });
    await room.ended(inTerminal.id);
    await pause(500);
    expect(await room.keeperPid()).toBe(process.pid); // one process still runs
    await room.processes.write(id, "\n");
    await room.ended(id);
    await Promise.all(ends);
    expect(existsSync(room.socket)).toBe(false);
    expect(await room.keeperPid()).toBe(undefined);
    const again = await room.start("exit 3");
    expect((await room.ended(again.id)).status).toMatchObject({ exit: { code: 3 } });
  });

  it("exits at once if another keeper runs", async () => {
    const { room, keeper } = await insideRoom();
    const { id } = await room.start("cat");
    await keeper(room);
    await room.processes.endInput(id);
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 0 } });
  });

  it("retries while the disk is full, loses no kept output, and ends no process", async () => {
    let isFull = false;
    const refuse = async (): Promise<never> => {
      throw new PostriderError("disk_full", "The disk is full.");
    };
    const wrap = (store: Store): Store => ({
      ...store,
      processes: {
        ...store.processes,
        appendProcessOutput: (input) => (isFull ? refuse() : store.processes.appendProcessOutput(input)),
        endProcess: (input) => (isFull ? refuse() : store.processes.endProcess(input)),
      },
    });
    const { room } = await insideRoom({ wrap });
    const { id } = await room.start("echo one; read -r; echo two; exit 6");
    await room.until(id, (_, printed) => printed === "one\n");
    isFull = true;
    await room.processes.write(id, "\n");
    await pause(600);
    expect((await room.row(id)).status).toMatchObject({ state: "running" });
    isFull = false;
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 6 } });
    expect(await room.printed(id)).toBe("one\ntwo\n");
  });

  it.each(["while :; do echo x; sleep 0.05; done", "sleep 1000"])(
    "ends a process without a row: %s",
    async (command) => {
      const { room } = await insideRoom();
      const { id, status } = await room.start(command);
      const db = new Database(join(room.home.folder, "postrider.db"));
      onTestFinished(() => void db.close());
      db.prepare("delete from processes where id = ?").run(id);
      const pid = status.state === "running" ? status.pid : 0;
      while (existsSync(`/proc/${pid}`)) await pause();
    },
  );

  it("continues when removing the files of a process fails, and logs it", async () => {
    const { room, keeper } = await insideRoom();
    const local = localBackend({ folder: join(room.home.folder, "processes") });
    const warnings: string[] = [];
    void keeper(room, {
      log: { ...SILENT, warn: (_, message) => void warnings.push(message) },
      backend: {
        ...local,
        async start(spec, events) {
          const running = await local.start(spec, events);
          const close = (): never => {
            running.close();
            throw new Error("ENOTEMPTY");
          };
          return { ...running, close };
        },
      },
    });
    const expected: string[] = [];
    for (const code of [3, 4]) {
      const { id } = await room.start(`exit ${code}`);
      expected.push(`removing the files of process ${id} failed; the next keeper retries`);
      expect((await room.ended(id)).status).toMatchObject({ exit: { code } });
    }
    await vi.waitFor(() => expect(warnings).toEqual(expected));
  });

  it("runs a command with pipes if no terminal is available, and records that in the row", async () => {
    const { room, keeper } = await insideRoom();
    void keeper(room, {
      backend: localBackend({ folder: join(room.home.folder, "processes"), load: async () => undefined }),
    });
    const { id, pty } = await room.start("test -t 1; exit $?", { pty: true });
    expect(pty).toBe(false);
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 1 } });
    await expect(room.processes.resize(id, { rows: 1, columns: 1 })).rejects.toMatchObject({
      code: "closed",
    });
  });

  it("is reported as missing if it cannot start, and the row of the new process ends", async () => {
    const room = await keeperRoom({ launch: () => {} });
    const client = room.client({ keeperTimeoutMs: 200 });
    const input = room.input("true");
    await expect(client.start(input)).rejects.toMatchObject({
      code: "closed",
      message: expect.stringContaining("logs/keeper.log"),
    });
    expect((await room.row(input.id)).status).toMatchObject({ state: "ended", exit: { unknown: true } });
  });
});
