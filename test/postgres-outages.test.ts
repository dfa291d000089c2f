import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { throwIfRefused } from "../src/core/refusal.ts";
import type { Store } from "../src/ports/store.ts";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { EVERYONE } from "../src/testing/scene.ts";
import { openProxiedStore, openTestStore } from "./support/postgres-room.ts";
import { connectTestServer, startServer } from "./support/postgres-server.ts";

const now = Date.UTC(2026, 2, 15);
let sessions = 0;

async function createSession(store: Store): Promise<string> {
  sessions += 1;
  const id = `20260315_092437_${String(sessions).padStart(8, "0")}`;
  const session = { id, kind: "chat", owner: "p_ann" } as const;
  throwIfRefused(await store.sessions.create({ session, profile: "main", now }));
  return id;
}

const hasSession = async (store: Store, session: string): Promise<boolean> =>
  (await store.sessions.getSession({ asker: EVERYONE, session })) !== undefined;

describe("a store on PostgreSQL whose database is away", () => {
  it("goes on after a restart of the server, without a restart of the process", async () => {
    const folder = mkdtempSync(join(tmpdir(), "postrider-restart-"));
    const server = await startServer({ folder, owner: process.pid, isDurable: true });
    onTestFinished(async () => {
      await server.stop("immediate");
      await rm(folder, { recursive: true, force: true });
    });
    const store = await openPostgresStore({ url: server.url, retryMs: 20_000 });
    onTestFinished(() => store.close());
    let heard = 0;
    store.onChange(() => {
      heard += 1;
    });
    const first = await createSession(store);
    for (const mode of ["fast", "immediate"] as const) {
      await server.stop(mode);
      const writing = createSession(store);
      const reading = hasSession(store, first);
      await setTimeout(100);
      await server.restart();
      expect(await hasSession(store, await writing)).toBe(true);
      expect(await reading).toBe(true);
    }
    // The connection for notifications is there again, too.
    const other = await openPostgresStore({ url: server.url });
    onTestFinished(() => other.close());
    await setTimeout(300); // the wake-up after the last restart
    const before = heard;
    await createSession(other);
    // Before the next poll.
    await expect.poll(() => heard, { timeout: 4000 }).toBeGreaterThan(before);
  });

  it("waits for a limited time, then fails with a stable code", async () => {
    const { proxy, store } = await openProxiedStore({ retryMs: 300 });
    proxy.refuse();
    proxy.cut();
    const start = performance.now();
    await expect(createSession(store)).rejects.toMatchObject({ code: "store_unavailable" });
    expect(performance.now() - start).toBeGreaterThan(250);
    await expect(hasSession(store, "x")).rejects.toMatchObject({ code: "store_unavailable" });
    await proxy.accept();
    await createSession(store);
  });

  it("notices connections that end without a word", async () => {
    const { proxy, store, direct } = await openProxiedStore({ statementTimeoutMs: 200, lockTimeoutMs: 200 });
    await createSession(store);
    proxy.freeze();
    const session = await createSession(store);
    expect(await hasSession(direct, session)).toBe(true);
  });

  it("works through slow connections, in order", async () => {
    const { proxy, store } = await openProxiedStore();
    proxy.delay(15);
    const session = await createSession(store);
    const titles = ["a", "b", "c"];
    await Promise.all(titles.map((title) => store.sessions.setTitle({ asker: EVERYONE, session, title })));
    expect((await store.sessions.getSession({ asker: EVERYONE, session }))?.title).toBe("c");
  });

  it("tells listeners of what happened while its connection was lost", async () => {
    const { proxy, store, direct } = await openProxiedStore();
    let heard = 0;
    store.onChange(() => {
      heard += 1;
    });
    proxy.refuse();
    proxy.cut();
    await createSession(direct);
    expect(heard).toBe(0);
    await proxy.accept();
    // Before the next poll.
    await expect.poll(() => heard, { timeout: 4000 }).toBeGreaterThan(0);
  });
});

describe("a pool of connections that are all in use", () => {
  it("makes calls wait, and fails with a stable code after a limited time", async () => {
    const store = await openTestStore({ poolSize: 1, retryMs: 250, schema: "test_pool" });
    const admin = await connectTestServer();
    onTestFinished(() => admin.query("drop schema test_pool cascade").then(() => {}));
    await admin.query("begin; select pg_advisory_xact_lock(hashtextextended('test_pool database', 0))");
    const blocked = createSession(store);
    await expect(hasSession(store, "x")).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("in use"),
    });
    await admin.query("commit");
    expect(await hasSession(store, await blocked)).toBe(true);
  });

  it("fails a write with a stable code while another process holds its lock for too long", async () => {
    const store = await openTestStore({ lockTimeoutMs: 100, schema: "test_lock" });
    const admin = await connectTestServer();
    onTestFinished(() => admin.query("drop schema test_lock cascade").then(() => {}));
    await admin.query("begin; select pg_advisory_xact_lock(hashtextextended('test_lock database', 0))");
    await expect(createSession(store)).rejects.toMatchObject({ code: "busy" });
    await admin.query("commit");
    await createSession(store);
  });
});
