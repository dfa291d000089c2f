import { join } from "node:path";
import { setImmediate as nextTick } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSessions, type Message, OWNER, type Store, sqliteStore } from "../src/index.ts";
import type { Order } from "./read-isolation/child.ts";
import { type Child, startChild } from "./support/child.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";

const who = { person: OWNER };
const TALKS = ["talk-0", "talk-1", "talk-2", "talk-3"];
/** Enough for all small writes, of both processes, but not for one message of this size. */
const FREE_BYTES = 8 * 1024 * 1024;
const TOO_LARGE = "x".repeat(FREE_BYTES);
const MISSING_BLOB = "0".repeat(64);

describe.each(["workers", "in-process"] as const)("a read beside writes of two processes (%s)", (mode) => {
  it("sees one commit and nothing of a failed write, which takes back only itself", async () => {
    const file = newFile();
    await fill(file, async (sessions) => {
      await Promise.all(TALKS.map((id) => sessions.create(who, { id })));
      // A longer table makes the statements of one read last longer than a commit.
      await Promise.all(Array.from({ length: 1500 }, () => sessions.create(who)));
    });
    const size = look(file, (db) => Number(db.pragma("page_count", { simple: true }))) * 4096;
    const store = await sqliteStore({ file, mode, maxBytes: size + FREE_BYTES });
    onTestFinished(() => store.close());
    const other = await startOther(file);
    other.tell({ create: true } satisfies Order);

    const stored = new Map<string, string[]>(TALKS.map((id) => [id, []]));
    const seen: { readonly session: string; readonly texts: readonly string[] }[] = [];
    const mixed: unknown[] = [];
    const results: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const calls: Promise<unknown>[] = [];
      for (let index = 0; index < 64; index += 1) {
        const session = TALKS[index % TALKS.length] ?? "";
        const write = chooseWrite(round, index);
        const texts = [`${round}-${index} first`, `${round}-${index} second`];
        calls.push(
          runWrite(store, write, session, texts).then((result) => {
            results.push(`${write}: ${result}`);
            if (write === "append" && result === "ok") stored.get(session)?.push(...texts);
          }),
          index % 2 === 0
            ? store.sessions.getStats({ asker: who }).then((stats) => {
                if (!isOneInstant(stats)) mixed.push(stats);
              })
            : readTexts(store, session).then((found) => seen.push({ session, texts: found })),
        );
      }
      await Promise.all(calls);
    }
    other.tell({ create: false } satisfies Order);

    expect(mixed).toEqual([]);
    expect([...new Set(results)].sort()).toEqual([
      "append: ok",
      "create: ok",
      "refer to a missing blob: invalid_input",
      "write too much: disk_full",
    ]);
    for (const session of TALKS) {
      const texts = await readTexts(store, session);
      expect(texts.toSorted()).toEqual(stored.get(session)?.toSorted());
      for (const one of seen.filter((read) => read.session === session)) {
        // Each append is a pair, and rows are in the order of their commits.
        expect(one.texts.length % 2).toBe(0);
        expect(one.texts).toEqual(texts.slice(0, one.texts.length));
      }
    }
  });

  it.each([
    { where: "read at once", messages: 50 },
    { where: "too long for one thread", messages: 100 },
  ])("finds a history complete or not at all while it is removed ($where)", async ({ messages }) => {
    const file = newFile();
    const ids = ["a", "b", "c"];
    await fill(file, async (sessions) => {
      for (const id of ids) {
        await sessions.create(who, { id });
        // Each undo ends a piece of the view, and each piece is read by its own statement.
        for (let piece = 0; piece < 30; piece += 1) {
          const texts = Array.from({ length: messages }, (_, index) => `${piece} ${index}`);
          await sessions.append(
            who,
            id,
            texts.map((text) => ({ role: "user" as const, text })),
          );
          await sessions.undo(who, id);
        }
      }
    });
    const store = await sqliteStore({ file, mode });
    onTestFinished(() => store.close());
    const other = await startOther(file);
    const lengths = new Set<number>();
    for (const session of ids) {
      let history = await store.messages.readHistory({ asker: who, session });
      other.tell({ remove: session } satisfies Order);
      for (; history !== undefined; history = await store.messages.readHistory({ asker: who, session })) {
        lengths.add(history.length);
        await nextTick();
      }
    }
    expect([...lengths]).toEqual([30 * (messages - 1)]);
  });

  it("leaves no transaction open when it fails", async () => {
    const file = newFile();
    const store = await sqliteStore({ file, mode });
    onTestFinished(() => store.close());
    const target = { platform: "local", chatType: "dm", chatId: "1" };
    const delivery = { target, parts: [{ type: "text" as const, text: "hello" }], sendNow: false };
    const { deliveries } = await store.outbox.enqueue({ runner: "r", deliveries: [delivery], now: 0 });
    const number = deliveries[0]?.number ?? 0;
    const db = new Database(file, { timeout: 5000 });
    onTestFinished(() => void db.close());
    db.prepare("update deliveries set target = 'damaged'").run();
    // The first fails before its first statement, the second after it.
    const list = store.sessions.querySessions({ asker: who, cursor: "of another list" });
    await expect(list).rejects.toMatchObject({ code: "invalid_input" });
    await expect(store.outbox.getDelivery({ number })).rejects.toMatchObject({ code: "corrupt" });

    db.prepare("update deliveries set target = ?").run(JSON.stringify(target));
    // A reader in an old snapshot would prevent the checkpoint, and would not see the change.
    expect(db.pragma("wal_checkpoint(TRUNCATE)")).toMatchObject([{ busy: 0 }]);
    expect(await store.outbox.getDelivery({ number })).toMatchObject({ target });
  });
});

type WriteKind = "append" | "create" | "refer to a missing blob" | "write too much";

function chooseWrite(round: number, index: number): WriteKind {
  if (index === 40 && round % 2 === 1) return "write too much";
  if (index % 16 === 5) return "refer to a missing blob";
  return index % 8 === 0 ? "create" : "append";
}

/** `ok`, or the code of the error. The failing writes fail after their first message is inserted. */
async function runWrite(
  store: Store,
  kind: WriteKind,
  session: string,
  [first = "", second = ""]: readonly string[],
): Promise<string> {
  const sessions = createSessions({ store });
  const toNote = (text: string) => ({ role: "note" as const, text });
  try {
    if (kind === "create") await sessions.create(who);
    else if (kind === "append") await sessions.append(who, session, [toNote(first), toNote(second)]);
    else if (kind === "write too much")
      await sessions.append(who, session, [toNote(first), toNote(TOO_LARGE)]);
    else {
      const image = { type: "image" as const, mimeType: "image/png", size: 1, blob: MISSING_BLOB };
      const messages = [
        { role: "note" as const, parts: [{ type: "text" as const, text: first }] },
        { role: "note" as const, parts: [image] },
      ];
      await store.messages.append({ asker: who, session, messages, now: Date.now() });
    }
    return "ok";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

function isOneInstant({ sessions, messages, byPlatform, byKind, byOwner }: Stats): boolean {
  const counts = [byPlatform, byKind, byOwner].map((by) =>
    Object.values(by).reduce((sum, count) => sum + count, 0),
  );
  return messages % 2 === 0 && counts.every((count) => count === sessions);
}

type Stats = Awaited<ReturnType<Store["sessions"]["getStats"]>>;

async function readTexts(store: Store, session: string): Promise<string[]> {
  const history = await store.messages.readHistory({ asker: who, session });
  return (history ?? []).map(({ parts: [part] }: Message) => (part?.type === "text" ? part.text : ""));
}

async function fill(
  file: string,
  work: (sessions: ReturnType<typeof createSessions>) => Promise<unknown>,
): Promise<void> {
  const store = await sqliteStore({ file, mode: "in-process" });
  await work(createSessions({ store }));
  await store.close();
}

async function startOther(file: string): Promise<Child> {
  const child = startChild(new URL("./read-isolation/child.ts", import.meta.url), [file]);
  onTestFinished(async () => {
    child.process.stdin?.end();
    await child.ended;
  });
  await child.heard((line) => line === "ready");
  return child;
}

function newFile(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return join(folder.path, "postrider.db");
}
