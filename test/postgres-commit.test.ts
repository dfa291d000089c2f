import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { throwIfRefused } from "../src/core/refusal.ts";
import type { Store } from "../src/ports/store.ts";
import { openPostgresStore } from "../src/stores/postgres/store.ts";
import { EVERYONE, user } from "../src/testing/scene.ts";
import { openProxiedStore } from "./support/postgres-room.ts";
import { startServer } from "./support/postgres-server.ts";
import { seeded } from "./support/random.ts";
import { schedule } from "./support/schedule.ts";
import { type CommitCut, startTcpProxy } from "./support/tcp-proxy.ts";

const CUTS: readonly CommitCut[] = ["before", "before, unnoticed", "after", "meanwhile"];
const SESSION = "20260315_092437_00000001";
const now = Date.UTC(2026, 2, 15);

async function createSession({ sessions }: Store): Promise<void> {
  throwIfRefused(
    await sessions.create({ session: { id: SESSION, kind: "chat", owner: "p_ann" }, profile: "main", now }),
  );
}

const say = async ({ messages }: Store, text: string): Promise<readonly number[]> =>
  throwIfRefused(await messages.append({ asker: EVERYONE, session: SESSION, messages: [user(text)], now }))
    .seqs;

async function readTexts({ messages }: Store): Promise<string[]> {
  const all = (await messages.listMessages({ asker: EVERYONE, session: SESSION })) ?? [];
  return all.map(({ parts: [part] }) => (part?.type === "text" ? part.text : ""));
}

describe("a connection to PostgreSQL that is lost during COMMIT", () => {
  it.each(CUTS)("stores the message once if it is cut %s", async (how) => {
    const { proxy, store, direct } = await openProxiedStore();
    await createSession(store);
    await say(store, "first");
    proxy.cutAtCommit(how);
    const start = performance.now();
    expect(await say(store, "second")).toEqual([2]);
    // Not only when the server gives up a silent connection.
    expect(performance.now() - start).toBeLessThan(6000);
    expect(proxy.commitCuts).toBe(1);
    expect(await say(store, "third")).toEqual([3]);
    expect(await readTexts(direct)).toEqual(["first", "second", "third"]);
  });

  it("reports an unknown outcome if the database stays away", async () => {
    const { proxy, store, direct } = await openProxiedStore({ retryMs: 400 });
    await createSession(store);
    proxy.refuse();
    proxy.cutAtCommit("after");
    await expect(say(store, "first")).rejects.toMatchObject({
      code: "store_unavailable",
      details: { outcome: "unknown" },
    });
    expect(await readTexts(direct)).toEqual(["first"]);
    await proxy.accept();
    expect(await say(store, "second")).toEqual([2]);
  });

  it("does not report a message as stored that a crash of the server has lost", async () => {
    const folder = mkdtempSync(join(tmpdir(), "postrider-crash-"));
    const server = await startServer({ folder, owner: process.pid, isDurable: true });
    onTestFinished(async () => {
      await server.stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    });
    const proxy = await startTcpProxy(server.port);
    onTestFinished(() => proxy.close());
    const url = new URL(server.url);
    url.port = String(proxy.port);
    const store = await openPostgresStore({ url: url.href, poolSize: 1 });
    onTestFinished(() => store.close());
    await createSession(store);
    proxy.refuse();
    proxy.cutAtCommit("before, unnoticed");
    const saying = say(store, "lost").catch((error: unknown) => error);
    while (proxy.commitCuts === 0) await setTimeout(5);
    await server.stop("immediate");
    await server.restart();
    // These transactions get the numbers of those that the crash has lost.
    const { Client } = (await import("pg")).default;
    const other = new Client({ connectionString: server.url });
    await other.connect();
    await other.query("create table others (n bigint)");
    for (let index = 0; index < 5; index += 1) await other.query("insert into others values (1)");
    await other.end();
    await proxy.accept();
    const answer = await saying;
    const texts = await readTexts(store);
    if (Array.isArray(answer)) expect(texts).toEqual(["lost"]);
    else {
      expect(answer).toMatchObject({ code: "store_unavailable", details: { outcome: "unknown" } });
      expect(texts).toEqual([]);
    }
  });

  it("loses and doubles nothing when connections are cut at random", async () => {
    const seed = Date.now() % 1e6;
    const random = seeded(seed);
    const { proxy, store, direct } = await openProxiedStore({ poolSize: 3 });
    await createSession(store);
    const said: string[] = [];
    for (let round = 0; round < schedule(6, 150); round += 1) {
      const batch = Array.from({ length: random.between(1, 4) }, (_, index) => `${round}.${index}`);
      if (random.next() < 0.6) proxy.cutAtCommit(random.pick(CUTS));
      const saying = batch.map((text) => say(store, text));
      if (random.next() < 0.5) {
        await setTimeout(random.between(0, 5));
        proxy.cut();
      }
      await Promise.all(saying);
      said.push(...batch);
    }
    expect(await readTexts(direct), `seed ${seed}`).toEqual(said);
  });
});
