import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { NewMessage } from "../../core/message.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { Store } from "../../ports/store.ts";
import { sqliteStore } from "./store.ts";

/** The threads that stores have started, so that a test can crash one. */
const threads = vi.hoisted((): Worker[] => []);

vi.mock("node:worker_threads", async (original) => {
  const actual = await original<typeof import("node:worker_threads")>();
  class Watched extends actual.Worker {
    constructor(...args: ConstructorParameters<typeof actual.Worker>) {
      super(...args);
      threads.push(this);
    }
  }
  return { ...actual, Worker: Watched };
});

const T0 = Date.UTC(2026, 2, 15);
const ann = { person: "p_ann" };

let folder: string;
let stores: Store[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postrider-channel-"));
  threads.length = 0;
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await rm(folder, { recursive: true, force: true });
});

async function opened(mode: "workers" | "in-process" = "workers"): Promise<Store> {
  const store = await sqliteStore({ file: join(folder, "postrider.db"), mode });
  stores.push(store);
  return store;
}

async function withSession(mode?: "in-process"): Promise<Store> {
  const store = await opened(mode);
  const session = { id: "s1", kind: "chat" as const, owner: "p_ann" };
  throwIfRefused(await store.sessions.create({ session, profile: "main", now: T0 }));
  return store;
}

function saying(words: string, extra?: Record<string, unknown>) {
  const message: NewMessage = {
    role: "user",
    parts: [{ type: "text", text: words }],
    ...(extra !== undefined && { extra }),
  };
  return { asker: ann, session: "s1", messages: [message], now: T0 };
}

function thread(index: number): Worker {
  const found = threads[index];
  if (found === undefined) throw new Error(`no thread ${index} was started`);
  return found;
}

describe("calls that follow one another", () => {
  it("let other events of the process run in between, also on a fast disk", async () => {
    // In memory, where there is one: an answer comes while the caller still waits awake.
    if (existsSync("/dev/shm")) {
      await rm(folder, { recursive: true });
      folder = await mkdtemp("/dev/shm/postrider-channel-");
    }
    const store = await withSession();
    let [inARow, most, isOver] = [0, 0, false];
    const startAgain = (): void => {
      inARow = 0;
      if (!isOver) setImmediate(startAgain);
    };
    setImmediate(startAgain);
    for (let index = 0; index < 500; index += 1) {
      await store.messages.append(saying(String(index)));
      inARow += 1;
      most = Math.max(most, inARow);
    }
    isOver = true;
    expect(most).toBeLessThan(100);
  });
});

describe("a thread that crashes", () => {
  it("rejects every pending write, and every later one, with a code", async () => {
    const store = await withSession();
    const calls = Array.from({ length: 5 }, (_, index) => store.messages.append(saying(String(index))));
    const settled = Promise.allSettled(calls);
    await thread(0).terminate();
    for (const outcome of await settled) {
      // Writes that were stored before the crash may have been answered.
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "closed" });
    }
    await expect(store.messages.append(saying("later"))).rejects.toMatchObject({ code: "closed" });
    await expect(store.messages.append(saying("later"))).rejects.toThrow(/Open the store again/);
    await store.close();
  });

  it("leaves no promise of that moment pending", async () => {
    const store = await withSession();
    const falling = thread(0).terminate();
    const outcomes = await Promise.allSettled([
      store.messages.append(saying("a")),
      store.messages.append(saying("b")),
    ]);
    await falling;
    expect(outcomes.map((outcome) => outcome.status === "rejected" && outcome.reason.code)).toEqual([
      "closed",
      "closed",
    ]);
  });

  it("leaves every acknowledged write in the file", async () => {
    const store = await withSession();
    throwIfRefused(await store.messages.append(saying("kept")));
    await thread(0).terminate();
    await store.close();
    const again = await opened();
    expect((await again.messages.readHistory({ asker: ann, session: "s1" }))?.length).toBe(1);
  });

  it("rejects long reads, and short reads and writes continue", async () => {
    const store = await withSession();
    await store.sessions.querySessions({ asker: ann });
    expect(threads).toHaveLength(2);
    const reading = store.messages.searchMessages({ asker: ann, text: "x" }).catch((error: unknown) => error);
    await thread(1).terminate();
    expect([[], expect.objectContaining({ code: "closed" })]).toContainEqual(await reading);
    await expect(store.sessions.querySessions({ asker: ann })).rejects.toMatchObject({ code: "closed" });
    expect(throwIfRefused(await store.messages.append(saying("still"))).seqs).toEqual([1]);
    expect((await store.messages.readHistory({ asker: ann, session: "s1" }))?.length).toBe(1);
  });

  it("rejects with its own error as the cause", async () => {
    const store = await withSession();
    const call = store.messages.append(saying("a"));
    thread(0).emit("error", new Error("boom"));
    await expect(call).rejects.toMatchObject({
      code: "internal",
      cause: expect.objectContaining({ message: "boom" }),
    });
    await thread(0).terminate();
  });

  it("rejects the opening with the reason if it fails at its start", async () => {
    await writeFile(
      join(folder, "postrider.db"),
      "not a database, but long enough to look like one".repeat(99),
    );
    await expect(opened()).rejects.toMatchObject({ code: "corrupt" });
  });
});

describe("an input that cannot be sent to another thread", () => {
  it("is rejected alone, and the other calls of that tick succeed", async () => {
    const store = await withSession();
    const outcomes = await Promise.allSettled([
      store.messages.append(saying("one")),
      store.messages.append(saying("two", { callback: () => "no data" })),
      store.messages.append(saying("three")),
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({
      reason: { code: "invalid_input", message: expect.stringContaining("append") },
    });
    const history = await store.messages.readHistory({ asker: ann, session: "s1" });
    expect(history?.map((message) => message.parts)).toEqual([
      [{ type: "text", text: "one" }],
      [{ type: "text", text: "three" }],
    ]);
  });
});

describe("errors that cross between threads", () => {
  it("keep their code, sentence and details", async () => {
    const image = { type: "image" as const, blob: "ab".repeat(32), mimeType: "image/png", size: 1 };
    const broken = { ...saying(""), messages: [{ role: "user" as const, parts: [image] }] };
    const seen: unknown[] = [];
    for (const mode of [undefined, "in-process"] as const) {
      const store = mode === undefined ? await withSession() : await opened(mode);
      const error = await store.messages.append(broken).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      const { code, message, details } = error as { code: string; message: string; details: object };
      seen.push({ code, message, details });
    }
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]).toMatchObject({ code: "invalid_input", details: { field: "blob", hash: image.blob } });
  });
});

describe("listeners", () => {
  for (const mode of ["workers", "in-process"] as const) {
    it(`are notified of commits of another connection (${mode})`, async () => {
      const writing = await withSession();
      const listening = await opened(mode);
      const own = new Promise<void>((resolve) => listening.onChange(resolve));
      await listening.sessions.release({ asker: ann, session: "s1", name: "none" });
      await own;
      const news = new Promise<void>((resolve) => listening.onChange(resolve));
      throwIfRefused(await writing.messages.append(saying("news")));
      await news;
      expect((await listening.messages.readHistory({ asker: ann, session: "s1" }))?.length).toBe(1);
    });
  }
});

describe("a process", () => {
  const run = async (script: string): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    return stdout;
  };

  for (const mode of ["workers", "in-process"] as const) {
    it(`completes its write although one of its listeners failed (${mode})`, async () => {
      const script = `
        import { sqliteStore } from ${JSON.stringify(join(import.meta.dirname, "store.ts"))};
        const options = { file: ${JSON.stringify(join(folder, "postrider.db"))}, mode: "${mode}" };
        process.on("uncaughtException", (error) => console.log("failed:", error.message));
        const store = await sqliteStore(options);
        store.onChange(() => { throw new Error("listener"); });
        store.onChange(() => console.log("notified"));
        const session = { id: "s1", kind: "chat", owner: "p_ann" };
        await store.sessions.create({ session, profile: "main", now: 1 }).then(() => console.log("stored"));
        await store.close();
      `;
      expect((await run(script)).split("\n").slice(0, 3)).toEqual(["failed: listener", "notified", "stored"]);
    });
  }

  it("exits by itself although its store is open, with all data stored", async () => {
    const script = `
      import { sqliteStore } from ${JSON.stringify(join(import.meta.dirname, "store.ts"))};
      const store = await sqliteStore({ file: ${JSON.stringify(join(folder, "postrider.db"))} });
      const session = { id: "s1", kind: "chat", owner: "p_ann" };
      void store.sessions.create({ session, profile: "main", now: 1 }).then(() => console.log("stored"));
    `;
    expect(await run(script)).toBe("stored\n");
    const store = await opened("in-process");
    expect(await store.sessions.find({ asker: ann, text: "s1" })).toHaveLength(1);
  });

  it("sees its store closed before it exits, even with a pending call", async () => {
    const script = `
      import { sqliteStore } from ${JSON.stringify(join(import.meta.dirname, "store.ts"))};
      const store = await sqliteStore({ file: ${JSON.stringify(join(folder, "postrider.db"))} });
      await store.sessions.getStats({ asker: { everyone: true } });
      void store.sessions.getStats({ asker: { everyone: true } }).then(() => console.log("answered"));
      await store.close();
      console.log("closed");
    `;
    expect(await run(script)).toBe("answered\nclosed\n");
  });
});
