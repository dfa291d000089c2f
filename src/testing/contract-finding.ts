import assert from "node:assert/strict";
import type { Asker } from "../core/owner.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Session } from "../core/session.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  assistant,
  BOB,
  DAY,
  EVERYONE,
  GROUP,
  HOUR,
  inGroup,
  MINUTE,
  requireValue,
  SCOPE_SHARED,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const ann = { person: "p_ann" };
const bob = { person: "p_bob" };

/** Titles, ids and lists of sessions. */
export function defineFindingRules({ describe }: TestApi, rule: StoreRule): void {
  describe("titles", () => {
    rule(
      "are unique among the sessions of one owner, and free for all others",
      async ({ create, store, get }) => {
        const [one, two, other] = [await create("p_ann"), await create("p_ann"), await create("p_bob")];
        const title = (asker: typeof ann, session: string, words?: string) =>
          store.sessions.setTitle({ asker, session, ...(words !== undefined && { title: words }) });
        assert.equal(throwIfRefused(await title(ann, one.id, "Plan")).title, "Plan");
        assert.equal(
          throwIfRefused(await title(ann, one.id, "Plan")).title,
          "Plan",
          "one's own title is no conflict",
        );
        const refusal = assertRefused(await title(ann, two.id, "Plan"), "title_taken");
        assert.ok(!refusal.reason.includes(one.id), "it contains no session id");
        assert.equal((await get(two.id)).title, undefined);
        assert.equal(throwIfRefused(await title(bob, other.id, "Plan")).title, "Plan");
        assert.equal(throwIfRefused(await title(ann, one.id)).title, undefined);
        assert.equal(throwIfRefused(await title(ann, two.id, "Plan")).title, "Plan");
        assertRefused(await title(bob, one.id, "Mine"), "not_found");
        assertRefused(
          await store.sessions.create({
            session: { id: "s9", kind: "chat", owner: "p_ann", title: "Plan" },
            profile: "main",
            now: T0,
          }),
          "title_taken",
        );
      },
    );

    rule("can be absent in any number of sessions", async ({ create, store }) => {
      for (let count = 0; count < 3; count++) {
        const { id } = await create("p_ann");
        throwIfRefused(await store.sessions.setTitle({ asker: ann, session: id }));
      }
      assert.equal((await store.sessions.querySessions({ asker: ann })).items.length, 3);
    });

    rule(
      "that are set automatically get the next number of their lineage",
      async ({ create, store, get }) => {
        const auto = async (title: string): Promise<string | undefined> => {
          const { id } = await create("p_ann");
          return throwIfRefused(
            await store.sessions.setTitle({ asker: ann, session: id, title, numbered: true }),
          ).title;
        };
        assert.equal(await auto("my project"), "my project");
        assert.equal(await auto("my project"), "my project #2");
        assert.equal(await auto("my project #2"), "my project #3");
        const long = "x".repeat(99);
        assert.equal(await auto(long), long);
        assert.equal(await auto(long), undefined, "too long to be numbered");
        const titled = await create("p_ann", [], { title: "Kept" });
        throwIfRefused(
          await store.sessions.setTitle({ asker: ann, session: titled.id, title: long, numbered: true }),
        );
        assert.equal((await get(titled.id)).title, "Kept");
      },
    );

    rule("stay unchanged with `ifUntitled`", async ({ create, store }) => {
      const { id } = await create("p_ann");
      const propose = async (title: string): Promise<string | undefined> =>
        throwIfRefused(await store.sessions.setTitle({ asker: ann, session: id, title, ifUntitled: true }))
          .title;
      assert.equal(await propose("First"), "First");
      assert.equal(await propose("Second"), "First");
    });

    rule(
      "match the highest number of a lineage, or exactly a title with a number",
      async ({ create, store }) => {
        for (const title of ["Plan", "Plan #10", "Plan #9", "Planning", "Plan B #99", "100% done", "my_x"]) {
          await create("p_ann", [], { title });
        }
        const found = async (title: string) =>
          (await store.sessions.findByTitle({ asker: ann, title }))?.title;
        assert.equal(await found("Plan"), "Plan #10");
        assert.equal(await found("Plan #9"), "Plan #9");
        assert.equal(await found("Plan #3"), undefined);
        assert.equal(await found("100% done"), "100% done");
        assert.equal(await found("100_ done"), undefined);
        assert.equal(await found("myXx"), undefined);
        assert.equal(await found("plan"), undefined);
      },
    );

    rule(
      "never match a title with the same start, nor a title of another person",
      async ({ create, store }) => {
        await create("p_ann", [], { title: "PR #438 fix auth" });
        await create("p_bob", [], { title: "PR #7" });
        assert.equal(await store.sessions.findByTitle({ asker: ann, title: "PR" }), undefined);
        assert.equal(await store.sessions.findByTitle({ asker: ann, title: "PR #7" }), undefined);
        assert.equal((await store.sessions.findByTitle({ asker: bob, title: "PR" }))?.title, "PR #7");
      },
    );
  });

  describe("finding by id", () => {
    rule("accepts an id, a handle or the start of an id", async ({ create, store }) => {
      const ids = ["20260315_092437_c9a6f01b", "20260315_092437_c9a6aaaa", "20260316_000000_00000000"];
      const made: Session[] = [];
      for (const id of ids) made.push(await create("p_ann", [], { id }));
      const found = async (text: string) =>
        (await store.sessions.find({ asker: ann, text })).map((session) => session.id).toSorted();
      for (const { id, handle } of made) {
        assert.deepEqual(await found(id), [id]);
        assert.deepEqual(await found(handle), [id]);
      }
      assert.deepEqual(await found("20260315_092437_c9a6f"), [ids[0]]);
      assert.deepEqual(await found("20260315_092437_c9a6"), [ids[1], ids[0]]);
      assert.deepEqual(await found("20260315-092437"), []);
      assert.deepEqual(await found("2026031__"), [], "an underscore is no wildcard");
      assert.deepEqual(await found("20260315_092437_c9a6f01bb"), []);
      assert.deepEqual(await found("%"), []);
      assert.deepEqual(await found(""), []);
    });

    rule("prefers the exact id to a longer one, and returns ten at most", async ({ create, store }) => {
      for (let count = 0; count < 12; count++) await create("p_ann", [], { id: `long-${count}` });
      await create("p_ann", [], { id: "long" });
      const ids = (await store.sessions.find({ asker: ann, text: "long" })).map((session) => session.id);
      assert.deepEqual(ids, ["long"]);
      assert.equal((await store.sessions.find({ asker: ann, text: "long-" })).length, 10);
    });

    rule("never returns another person's session", async ({ create, store }) => {
      const { id, handle } = await create("p_ann", [], { id: "secret-1" });
      for (const text of [id, handle, "secret"])
        assert.deepEqual(await store.sessions.find({ asker: bob, text }), []);
      assert.equal((await store.sessions.find({ asker: EVERYONE, text: id })).length, 1);
    });

    rule("gets a session by its exact id only", async ({ create, store }) => {
      const { id, handle } = await create("p_ann", [], { id: "exact-1" });
      const get = (session: string) => store.sessions.getSession({ asker: ann, session });
      assert.deepEqual(await get(id), (await store.sessions.find({ asker: ann, text: id }))[0]);
      assert.equal((await get(id))?.id, id);
      for (const other of [handle, "exact", "exact-", "exact-11", "EXACT-1", "exact__", "%", ""])
        assert.equal(await get(other), undefined, `nothing has the id "${other}"`);
    });

    rule("gets nothing for somebody else's session, as for no session", async ({ create, store }) => {
      const { id } = await create("p_ann", [], { id: "secret-1" });
      assert.equal(await store.sessions.getSession({ asker: bob, session: id }), undefined);
      assert.equal(await store.sessions.getSession({ asker: bob, session: "secret-2" }), undefined);
      assert.equal((await store.sessions.getSession({ asker: EVERYONE, session: id }))?.id, id);
      assert.equal(await store.sessions.remove({ asker: ann, session: id, now: T0 }), true);
      assert.equal(await store.sessions.getSession({ asker: EVERYONE, session: id }), undefined);
    });

    rule("gives every session its own handle", async ({ create }) => {
      const handles = new Set<string>();
      for (let count = 0; count < 20; count++) handles.add((await create("p_ann")).handle);
      assert.equal(handles.size, 20);
    });

    rule("never creates the same id twice", async ({ create, store }) => {
      const { id } = await create("p_ann");
      const again = { session: { id, kind: "chat" as const, owner: "p_bob" }, profile: "main", now: T0 };
      assertRefused(await store.sessions.create(again), "invalid_input");
    });
  });

  describe("lists", () => {
    rule("are ordered by last activity, newest first", async ({ create, say, store }) => {
      const [one, two, three] = [await create("p_ann"), await create("p_ann"), await create("p_ann")];
      await say(one.id, user("x", { at: T0 + HOUR }));
      await say(three.id, user("x", { at: T0 + MINUTE }));
      const { items, cursor } = await store.sessions.querySessions({ asker: ann });
      assert.deepEqual(
        items.map(({ id, lastAt }) => [id, lastAt]),
        [
          [one.id, T0 + HOUR],
          [three.id, T0 + MINUTE],
          [two.id, T0],
        ],
      );
      assert.equal(cursor, undefined);
    });

    rule("include a session that was active exactly at the given time", async ({ create, say, store }) => {
      const [one, two] = [await create("p_ann"), await create("p_ann")];
      await say(two.id, user("x", { at: T0 + HOUR }));
      const since = async (activeSince: number) =>
        (await store.sessions.querySessions({ asker: ann, activeSince })).items.length;
      assert.equal(one.lastAt, T0);
      assert.deepEqual([await since(T0), await since(T0 + 1), await since(T0 + HOUR + 1)], [2, 1, 0]);
    });

    rule("filter by platform, kind, owner, folder, title and archive", async ({ create, talk, store }) => {
      const chat = await talk(ANN, "hello", "hi", { person: "p_ann" });
      const signal = await talk({ ...ANN, platform: "signal" }, "hello", "hi", { person: "p_ann" });
      const job = await create("p_ann", [], { kind: "job", cwd: "/srv" });
      const titled = await create("p_bob", [], { kind: "editor", cwd: "/home", title: "Plan" });
      const archived = await create("p_bob");
      const ask = { asker: { person: "p_bob" }, session: archived.id, now: T0 };
      assert.equal(
        throwIfRefused(await store.sessions.change({ ...ask, change: { archived: true } })).archivedAt,
        T0,
      );
      const ids = async (query: Omit<Parameters<typeof store.sessions.querySessions>[0], "asker">) =>
        (await store.sessions.querySessions({ ...query, asker: EVERYONE })).items
          .map((session) => session.id)
          .toSorted();
      assert.deepEqual(await ids({ platform: "telegram" }), [chat.id]);
      assert.deepEqual(await ids({ platform: "signal" }), [signal.id]);
      assert.deepEqual(await ids({ platform: "discord" }), []);
      assert.deepEqual(await ids({ kinds: ["job", "editor"] }), [job.id, titled.id].toSorted());
      assert.deepEqual(await ids({ kinds: [] }), []);
      assert.deepEqual(await ids({ owner: "p_bob" }), [titled.id]);
      assert.deepEqual(await ids({ cwd: "/srv" }), [job.id]);
      assert.deepEqual(await ids({ titled: true }), [titled.id]);
      assert.deepEqual(await ids({ used: true }), [chat.id, signal.id, titled.id].toSorted());
      assert.deepEqual(await ids({ used: false }), [job.id]);
      assert.deepEqual(await ids({ archived: true }), [archived.id]);
      assert.equal((await ids({ archived: false })).length, 4);
      assert.equal((await ids({ archived: "both" })).length, 5);
      throwIfRefused(await store.sessions.change({ ...ask, change: { archived: false } }));
      assert.equal((await ids({})).length, 5);
    });

    rule("contain only sessions that the asker may see", async ({ create, open, store }) => {
      await create("p_ann");
      await create("p_bob");
      await open(inGroup("ann"), { person: "p_ann" });
      const count = async (asker: Parameters<typeof store.sessions.querySessions>[0]["asker"]) =>
        (await store.sessions.querySessions({ asker })).items.length;
      assert.equal(await count(ann), 2);
      assert.equal(await count({ ...ann, chat: "chat:telegram:-100" }), 1);
      assert.equal(await count(bob), 1);
      assert.equal(await count(EVERYONE), 3);
      assert.equal((await store.sessions.querySessions({ asker: bob, owner: "p_ann" })).items.length, 0);
    });

    rule(
      "are read in pages that neither repeat nor skip a row while messages are added",
      async ({ create, say, store }) => {
        const made: string[] = [];
        for (let count = 0; count < 7; count++) made.push((await create("p_ann")).id);
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await store.sessions.querySessions({
            asker: ann,
            limit: 3,
            ...(cursor !== undefined && { cursor }),
          });
          seen.push(...page.items.map((session) => session.id));
          cursor = page.cursor;
          await say((await create("p_ann")).id, user("new", { at: T0 + DAY }));
          await say(requireValue(seen[0]), user("again", { at: T0 + DAY }));
        } while (cursor !== undefined);
        assert.deepEqual(seen.toSorted(), made.toSorted());
      },
    );

    rule("refuse an invalid cursor", async ({ store }) => {
      for (const cursor of ["", "x", "1", "1.2.3", "-1.5", "' or 1"]) {
        await assertRejects(store.sessions.querySessions({ asker: ann, cursor }), "invalid_input");
      }
    });

    rule("contain the start of the first human message", async ({ create, say, store, reshape, fork }) => {
      const preview = async (...lines: readonly string[]): Promise<string | undefined> => {
        const { id } = await create("p_ann");
        await say(id, assistant("Welcome."), ...lines.map((line) => user(line)));
        return (await store.sessions.querySessions({ asker: ann })).items.find((session) => session.id === id)
          ?.preview;
      };
      assert.equal(await preview("first", "second"), "first");
      assert.equal(await preview("one\ntwo\r\nthree"), "one two three");
      assert.equal(await preview("A".repeat(100)), `${"A".repeat(60)}...`);
      assert.equal(await preview("A".repeat(60)), "A".repeat(60));
      assert.equal(await preview(), "");
      const { id } = await create("p_ann", ["old words", "a"]);
      const copy = await fork(id);
      await reshape(id, { kind: "rewrite", messages: [user("new words")] });
      const { items } = await store.sessions.querySessions({ asker: ann });
      const line = (session: string) => items.find((item) => item.id === session)?.preview;
      assert.deepEqual([line(id), line(copy.id)], ["new words", "old words"]);
    });

    rule("count the messages of a fork with those that it shows from its origin", async (scene) => {
      const { create, fork, say, store, reshape } = scene;
      const origin = await create("p_ann", ["q1", "a1", "q2"]);
      const copy = await fork(origin.id, { keep: 2 });
      await say(copy.id, user("q3"));
      const counts = async () => {
        const { items } = await store.sessions.querySessions({ asker: ann });
        return Object.fromEntries(items.map(({ id, totalCount }) => [id, totalCount]));
      };
      assert.deepEqual(await counts(), { [origin.id]: 3, [copy.id]: 3 });
      await reshape(copy.id, { kind: "undo" });
      assert.deepEqual(await counts(), { [origin.id]: 3, [copy.id]: 3 }, "undone messages count");
      await reshape(origin.id, { kind: "undo" });
      assert.deepEqual(await counts(), { [origin.id]: 3, [copy.id]: 3 });
    });

    rule("contain every conversation with its current session, in pages", async ({ open, store }) => {
      const all: string[] = [];
      for (let chat = 1; chat <= 5; chat += 1) {
        const { session } = await open({ ...ANN, chatId: `chat ${chat}` }, { person: "p_ann" });
        all.push(session.id);
      }
      await open(BOB, { person: "p_bob" });
      const seen: string[] = [];
      for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
        const page = await store.conversations.listConversations({
          asker: ann,
          limit: 2,
          ...(cursor && { cursor }),
        });
        assert.ok(page.items.length <= 2 && pages < 4);
        for (const { conversation, session } of page.items) {
          assert.equal(conversation.session, session.id);
          assert.equal(conversation.handle, session.handle);
          seen.push(session.id);
        }
        cursor = page.cursor;
      }
      assert.deepEqual(seen, all);
      const everyone = await store.conversations.listConversations({ asker: EVERYONE });
      assert.equal(everyone.items.length, 6);
      const elsewhere = await store.conversations.listConversations({ asker: EVERYONE, platform: "nowhere" });
      assert.deepEqual(elsewhere, { items: [] });
      await assertRejects(
        store.conversations.listConversations({ asker: ann, cursor: "x" }),
        "invalid_input",
      );
    });

    rule("hide conversations from people who are not in the chat", async ({ open, store }) => {
      await open(ANN, { person: "p_ann" });
      const group = await open(inGroup("ann"), { person: "p_ann" });
      const shared = await open({ ...inGroup("ann"), threadId: "9" }, { scope: SCOPE_SHARED });
      const named = async (asker: Asker) =>
        (await store.conversations.listConversations({ asker })).items.map(
          ({ conversation }) => conversation.number,
        );
      assert.equal((await named(ann)).length, 2);
      assert.deepEqual(await named(bob), []);
      const there = [group, shared].map(({ conversation }) => conversation.number);
      assert.deepEqual(await named({ person: "p_ann", chat: GROUP }), there);
      assert.deepEqual(await named({ person: "p_bob", chat: GROUP }), there.slice(1));
    });

    rule("have totals that depend on the asker", async ({ create, talk, store }) => {
      await create("p_ann", ["a", "b"], { kind: "job" });
      await talk(ANN, "hello", "hi", { person: "p_ann" });
      await talk(BOB, "hello", "hi", { person: "p_bob" });
      const stats = await store.sessions.getStats({ asker: ann });
      assert.deepEqual([stats.sessions, stats.messages], [2, 4]);
      assert.deepEqual(stats.byKind, { chat: 1, job: 1 });
      assert.equal(stats.byPlatform.telegram, 1);
      assert.ok(stats.bytes > 0);
      assert.equal((await store.sessions.getStats({ asker: EVERYONE })).sessions, 3);
      assert.equal((await store.sessions.getStats({ asker: { person: "p_carl" } })).sessions, 0);
    });

    rule("report whether another session exists", async ({ create, store }) => {
      const one = await create("p_ann");
      await create("p_bob");
      assert.equal(await store.sessions.hasOther({ asker: ann, session: one.id }), false);
      const two = await create("p_ann");
      assert.equal(await store.sessions.hasOther({ asker: ann, session: one.id }), true);
      await store.sessions.remove({ asker: ann, session: two.id, now: T0 });
      assert.equal(await store.sessions.hasOther({ asker: ann, session: one.id }), false);
    });
  });
}
