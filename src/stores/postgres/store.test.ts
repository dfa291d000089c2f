import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { createTestSchema, openTestStore } from "../../../test/support/postgres-room.ts";
import { connectTestServer, findTestServer } from "../../../test/support/postgres-server.ts";
import { throwIfRefused } from "../../core/refusal.ts";
import type { Store } from "../../ports/store.ts";
import { ANN, EVERYONE, SCOPE_PER_USER, user } from "../../testing/scene.ts";
import { type Connections, openConnections } from "./connections.ts";
import { readOptions } from "./options.ts";
import { createTransactionRunner, type Write } from "./transaction-runner.ts";

const now = Date.UTC(2026, 2, 15);
const SESSION = "20260315_092437_00000001";
let messages = 0;

async function createSession(store: Store, ...texts: readonly string[]): Promise<void> {
  const session = { id: SESSION, kind: "chat", owner: "p_ann" } as const;
  throwIfRefused(await store.sessions.create({ session, profile: "main", now }));
  const request = { asker: EVERYONE, session: SESSION, now };
  if (texts.length > 0)
    await store.messages.append({ ...request, messages: texts.map((text) => user(text)) });
}

function accept(store: Store, source: object) {
  messages += 1;
  return store.inbox.accept({
    source: { ...ANN, ...source },
    profile: "main",
    scope: SCOPE_PER_USER,
    reset: {},
    newSession: { id: `20260315_092437_1${String(messages).padStart(7, "0")}`, kind: "chat" },
    messageId: `m${messages}`,
    message: user("hello"),
    now,
  });
}

describe("a store on PostgreSQL", () => {
  it("uses the clock of the database for leases, whatever the machine's clock says", async () => {
    const store = await openTestStore();
    const runner = { id: "r1", host: "elsewhere", boot: "b", pid: 1, started: "1" };
    await store.runners.recordHeartbeat({ runner, now: 0 });
    await store.runners.acquireLease({ name: "expiry", runner: "r1", ttlMs: 60_000, now: 0 });
    const [lease] = await store.runners.listLeases({ now: 0 });
    expect(Math.abs((lease?.until ?? 0) - Date.now() - 60_000)).toBeLessThan(30_000);
  });

  it("locks the whole database only for an operation that leaves its scope", async () => {
    const schema = createTestSchema();
    const store = await openTestStore({ schema, lockTimeoutMs: 150 });
    await accept(store, { chatType: "group", chatId: "g", userId: "1" });
    await accept(store, { chatType: "group", chatId: "g", userId: undefined, userIdAlt: "a" });
    const admin = await connectTestServer();
    await admin.query(
      `begin; select pg_advisory_xact_lock_shared(hashtextextended('${schema} database', 0))`,
    );
    await accept(store, { chatType: "group", chatId: "g", userId: "1" });
    // Now it turns out that both are one person: conversations of other chats may move.
    const both = { chatType: "group", chatId: "g", userId: "1", userIdAlt: "a" };
    await expect(accept(store, both)).rejects.toMatchObject({ code: "busy" });
    await admin.query("commit");
    await accept(store, both);
  });

  it("locks the sessions of the sender in a group, not those of all members", async () => {
    const schema = createTestSchema();
    const store = await openTestStore({ schema, lockTimeoutMs: 150 });
    const ann = { chatType: "group", chatId: "g", userId: "ann" };
    const bob = { chatType: "group", chatId: "g", userId: "bob" };
    await accept(store, ann);
    await accept(store, bob);
    const admin = await connectTestServer();
    await admin.query("begin");
    await admin.query(
      `select pg_advisory_xact_lock(hashtext('${schema} session'), c.session::integer)
       from "${schema}".conversations c join "${schema}".accounts a on a.n = c.account where a.user_id = 'bob'`,
    );
    await accept(store, ann);
    await expect(accept(store, bob)).rejects.toMatchObject({ code: "busy" });
    await admin.query("rollback");
    await accept(store, bob);
  });

  it("locks the chat of a message, so that its conversation cannot move to another session meanwhile", async () => {
    const schema = createTestSchema();
    const store = await openTestStore({ schema, lockTimeoutMs: 150 });
    const { conversation } = (await accept(store, {})) as { conversation: { number: number } };
    const admin = await connectTestServer();
    await admin.query("begin");
    await admin.query(
      `select pg_advisory_xact_lock(hashtextextended(concat_ws(chr(31), '${schema} chat', 'main', 'telegram', 'ann'), 0))`,
    );
    await expect(accept(store, {})).rejects.toMatchObject({ code: "busy" });
    const canceling = store.inbox.cancelPending({ conversation: conversation.number, now });
    await expect(canceling).rejects.toMatchObject({ code: "busy" });
    await accept(store, { chatId: "bob", userId: "bob" });
    await admin.query("rollback");
    await accept(store, {});
  });

  it("indexes new messages by itself", async () => {
    const schema = createTestSchema();
    const store = await openTestStore({ schema });
    await createSession(store, "hello there");
    const admin = await connectTestServer();
    const count = async (): Promise<number> =>
      (await admin.query(`select count(*)::integer as n from "${schema}".words`)).rows[0].n;
    await expect.poll(count, { timeout: 10_000 }).toBe(1);
  });

  it("finds a phrase at the end of a long text, and only in its order", async () => {
    const store = await openTestStore();
    const filler = Array.from({ length: 20_000 }, (_, index) => (index % 3 === 0 ? "green" : `w${index}`));
    await createSession(store, `${filler.join(" ")} green lantern light`, "lantern of green light");
    await store.indexPending();
    const search = async (text: string): Promise<number[]> =>
      (await store.messages.searchMessages({ asker: EVERYONE, text })).map(({ seq }) => seq).toSorted();
    expect(await search('"green lantern light"')).toEqual([1]);
    expect(await search("green lantern light")).toEqual([1, 2]);
    expect(await search('light -"green lantern"')).toEqual([2]);
    expect(await search("lant* -w4")).toEqual([2]);
  });

  it("tells the others of its last write, also when it closes at once", async () => {
    const schema = createTestSchema();
    const [writer, listener] = [await openTestStore({ schema }), await openTestStore({ schema })];
    // The second notification has to wait for the pause after the first.
    await createSession(writer);
    await setTimeout(100);
    let heard = 0;
    listener.onChange(() => {
      heard += 1;
    });
    await accept(writer, {});
    await accept(writer, {});
    await writer.close();
    // Before the slow poll.
    await expect.poll(() => heard, { timeout: 3000 }).toBeGreaterThanOrEqual(2);
  });

  it("works through a pooler: without prepared statements, and with polling for changes", async () => {
    const schema = createTestSchema();
    const pooled = await openTestStore({ schema, pooler: "transaction", poolSize: 1 });
    const other = await openTestStore({ schema });
    let heard = 0;
    pooled.onChange(() => {
      heard += 1;
    });
    await setTimeout(200);
    const before = heard;
    await createSession(other, "hello");
    await expect.poll(() => heard, { timeout: 5000 }).toBeGreaterThan(before);
    expect(await pooled.messages.readHistory({ asker: EVERYONE, session: SESSION })).toHaveLength(1);
    await accept(pooled, {});
  });

  it("is closed after its calls, and refuses later ones", async () => {
    const schema = createTestSchema();
    const store = await openTestStore({ schema, applicationName: schema });
    const writing = createSession(store);
    await store.close();
    await writing;
    await expect(store.runners.listLeases({ now })).rejects.toMatchObject({ code: "closed" });
    const admin = await connectTestServer();
    await expect
      .poll(async () => {
        const { rows } = await admin.query(
          "select count(*)::integer as n from pg_stat_activity where application_name = $1",
          [schema],
        );
        return rows[0].n;
      })
      .toBe(0);
  });
});

describe("a transaction on PostgreSQL", () => {
  async function openRunner(): Promise<Connections> {
    const schema = createTestSchema();
    const connections = await openConnections(readOptions({ url: await findTestServer(), schema }));
    onTestFinished(() => connections.close());
    return connections;
  }
  const insertSql = "insert into cursors (name, value, at) values (?, ?, ?)";
  const countSql = "select count(*) as n from cursors";
  const write = (run: Write<void>["run"]): Write<void> => ({
    scopes: [{ kind: "new" }],
    run,
  });

  it("fails as a whole if a statement fails whose result nobody reads", async () => {
    const runner = createTransactionRunner(await openRunner());
    const call = runner.write(
      write(async (db) => {
        await db.send(insertSql, "a", "1", now);
        await db.send(insertSql, "b", null, now);
        await db.send(insertSql, "c", "3", now);
      }),
    );
    await expect(call).rejects.toMatchObject({ details: { code: "23502" } });
    expect(await runner.read((db) => db.get(countSql))).toEqual({ n: 0 });
  });

  it("runs again after a conflict, and sees what the other has stored", async () => {
    const connections = await openRunner();
    const runner = createTransactionRunner(connections);
    let runs = 0;
    await runner.write(
      write(async (db) => {
        runs += 1;
        const { n } = (await db.get<{ n: number }>(countSql)) ?? { n: 0 };
        if (runs === 1) {
          const admin = await connectTestServer();
          await admin.query(`insert into "${connections.settings.schema}".cursors values ('row 0', '', 0)`);
        }
        await db.send(insertSql, `row ${n}`, "", now);
      }),
    );
    expect(runs).toBe(2);
    expect(await runner.read((db) => db.get(countSql))).toEqual({ n: 2 });
  });

  it("keeps NUL, marks and whole numbers as they are, and refuses larger ones", async () => {
    const runner = createTransactionRunner(await openRunner());
    const texts = ["a\0b", "\ufdd0", "\ufdd00", "\0\ufdd0\0", "\ufdd0\ufdd00", "half \ud83d"];
    for (const [index, text] of texts.entries())
      await runner.write(write(async (db) => db.send(insertSql, `n${index}`, text, 2 ** 53 - 1 - index)));
    const rows = await runner.read((db) =>
      db.all<{ value: string; at: number }>("select value, at from cursors order by name"),
    );
    expect(rows.map(({ value }) => value)).toEqual([...texts.slice(0, -1), "half \ufffd"]);
    expect(rows[0]?.at).toBe(2 ** 53 - 1);
    const larger = runner.read((db) => db.get("select 9007199254740993 as n"));
    await expect(larger).rejects.toMatchObject({ code: "corrupt" });
  });

  it("shows one instant to a read, also between its statements", async () => {
    const runner = createTransactionRunner(await openRunner());
    const counts = await runner.read(async (db) => {
      const first = await db.get(countSql);
      await runner.write(write(async (other) => other.send(insertSql, "new", "", now)));
      return [first, await db.get(countSql)];
    });
    expect(counts).toEqual([{ n: 0 }, { n: 0 }]);
  });
});

it("indexes every message, in whatever order the server stores them", async () => {
  const schema = createTestSchema();
  const store = await openTestStore({ schema });
  await createSession(store, "first");
  const admin = await connectTestServer();
  await admin.query(`
insert into "${schema}".messages (id, at, role, text)
  select m.id + g, m.at, m.role, 'word' || g from "${schema}".messages m, generate_series(999, 1, -1) as g`);
  await admin.query(`update "${schema}".sessions set next_seq = 1001`);
  await store.indexPending();
  const { rows } = await admin.query(`select count(*)::int as n from "${schema}".words`);
  expect(rows).toEqual([{ n: 1000 }]);
});
