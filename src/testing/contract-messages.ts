import assert from "node:assert/strict";
import { type NewMessage, type Part, textPart } from "../core/message.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Blob } from "../core/turn.ts";
import {
  ANN,
  assertRefused,
  assertRejects,
  assistant,
  EVERYONE,
  readTexts,
  requireValue,
  type StoreRule,
  T0,
  type TestApi,
  user,
} from "./scene.ts";

const PIXELS: Blob = {
  hash: "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81",
  bytes: new Uint8Array([1, 2, 3]),
};
const PAGES: Blob = {
  hash: "787c798e39a5bc1910355bae6d0cd87a36b2e10fd0202a83e3bb6b005da83472",
  bytes: new Uint8Array([4, 5, 6]),
};
const IMAGE: Part = { type: "image", blob: PIXELS.hash, mimeType: "image/png", size: 3 };
const FILE: Part = { type: "file", blob: PAGES.hash, mimeType: "text/plain", size: 3, name: "pages.txt" };

const EVERY_SORT: readonly NewMessage[] = [
  user("plain"),
  { role: "user", parts: [] },
  user(""),
  { role: "user", parts: [textPart("two"), textPart("texts")] },
  {
    role: "user",
    parts: [
      textPart("look"),
      IMAGE,
      FILE,
      { type: "resource", uri: "file:///a.md", mimeType: "text/markdown", text: "# A" },
      { type: "resource", uri: "blob:b", blob: PIXELS.hash },
    ],
    origin: { platform: "telegram", platformMessageId: "7", userId: "ann", userName: "Ann" },
  },
  assistant("thinking aloud", {
    reasoning: "First north, then west.",
    finishReason: "tool_calls",
    tokens: 12,
    toolCalls: [
      { id: "c1", name: "look", arguments: { at: ["map", 1, null, { deep: true }] } },
      { id: "c2", name: "walk", arguments: "not json" },
    ],
    extra: { provider: { signature: "abc", items: [1, 2] } },
  }),
  assistant("without a thought", { reasoning: "" }),
  { role: "tool", parts: [textPart("nothing")], toolCallId: "c1", toolName: "look" },
  assistant("cut o", { origin: { interrupted: true }, at: T0 - 5 }),
  { role: "note", parts: [textPart("Delivered from job.")], origin: { proactive: true } },
  user("a \u0000 NUL, a quote ' and \" and emoji 🐎, 馬, e\u0301 and\nlines\r\n"),
];

/** Stored messages and their bytes. */
export function defineMessageRules({ describe }: TestApi, rule: StoreRule): void {
  describe("a stored message", () => {
    rule("is returned with all its fields unchanged", async (scene) => {
      const { id } = await scene.create("p_ann");
      const ask = { asker: EVERYONE, session: id };
      const blobs = [PIXELS, PAGES];
      const { seqs } = throwIfRefused(
        await scene.store.messages.append({ ...ask, messages: EVERY_SORT, blobs, now: T0 + 1 }),
      );
      assert.deepEqual(
        seqs,
        EVERY_SORT.map((_message, index) => index + 1),
      );
      const expected = EVERY_SORT.map((message, index) => ({
        at: T0 + 1,
        ...message,
        session: id,
        seq: index + 1,
      }));
      assert.deepEqual(await scene.store.messages.readHistory(ask), expected);
      await scene.reopen();
      assert.deepEqual(await scene.store.messages.readHistory(ask), expected);
      assert.deepEqual(await scene.store.messages.listMessages(ask), expected);
    });

    rule("gets the next seq from 1, also with concurrent calls", async ({ create, say, store }) => {
      const { id } = await create("p_ann");
      const calls = Array.from({ length: 30 }, (_, index) =>
        say(id, user(`${index}a`), assistant(`${index}b`)),
      );
      const seqs = (await Promise.all(calls)).flat();
      assert.deepEqual(
        seqs,
        Array.from({ length: 60 }, (_, index) => index + 1),
      );
      const said = requireValue(await store.messages.readHistory({ asker: EVERYONE, session: id }));
      assert.deepEqual(
        said.map((message) => message.seq),
        seqs,
      );
      assert.deepEqual(readTexts(said).slice(0, 4), ["0a", "0b", "1a", "1b"]);
    });

    rule("can be read in pages", async ({ create, store }) => {
      const { id } = await create("p_ann", ["1", "2", "3", "4", "5"]);
      const ask = { asker: EVERYONE, session: id };
      const shown = async (range: { offset?: number; limit?: number }) =>
        readTexts(await store.messages.readHistory({ ...ask, ...range }));
      assert.deepEqual(await shown({ offset: 1, limit: 2 }), ["2", "3"]);
      assert.deepEqual(await shown({ offset: 3 }), ["4", "5"]);
      assert.deepEqual(await shown({ limit: 0 }), []);
      assert.deepEqual(await shown({ offset: 9 }), []);
      const said = async (range: { after?: number; limit?: number }) =>
        readTexts(await store.messages.listMessages({ ...ask, ...range }));
      assert.deepEqual(await said({ after: 3 }), ["4", "5"]);
      assert.deepEqual(await said({ after: 1, limit: 2 }), ["2", "3"]);
      assert.deepEqual(await said({ after: 9 }), []);
    });

    rule("is read across the ranges of a fork's view", async ({ create, fork, say, store }) => {
      const { id } = await create("p_ann", ["1", "2", "3"]);
      const copy = await fork(id);
      await say(copy.id, user("4"), assistant("5"));
      const ask = { asker: EVERYONE, session: copy.id };
      assert.deepEqual(readTexts(await store.messages.readHistory({ ...ask, offset: 2, limit: 2 })), [
        "3",
        "4",
      ]);
      assert.deepEqual(readTexts(await store.messages.readHistory({ ...ask, offset: 3 })), ["4", "5"]);
      assert.deepEqual(readTexts(await store.messages.listMessages(ask)), ["4", "5"]);
    });

    rule("can be very long", async ({ create, store }) => {
      const { id } = await create("p_ann");
      const ask = { asker: EVERYONE, session: id };
      const messages = Array.from({ length: 3000 }, (_, index) => user(String(index)));
      throwIfRefused(await store.messages.append({ ...ask, messages, now: T0 }));
      const words = "x".repeat(1_000_000);
      throwIfRefused(await store.messages.append({ ...ask, messages: [user(words)], now: T0 }));
      const all = readTexts(await store.messages.readHistory(ask));
      assert.equal(all.length, 3001);
      assert.equal(all[2999], "2999");
      assert.equal(all[3000], words);
      assert.deepEqual(readTexts(await store.messages.listMessages({ ...ask, after: 2998, limit: 2 })), [
        "2998",
        "2999",
      ]);
    });

    rule("is counted: messages, human messages and tool calls", async ({ create, say, get }) => {
      const { id } = await create("p_ann");
      const toolCalls = ["c1", "c2"].map((call) => ({ id: call, name: "look", arguments: {} }));
      await say(
        id,
        user("go"),
        assistant("", { parts: [], toolCalls, at: T0 + 9 }),
        { role: "tool", parts: [textPart("a")], toolCallId: "c1", toolName: "look" },
        { role: "tool", parts: [textPart("b")], toolCallId: "c2", toolName: "look" },
        assistant("done"),
      );
      const session = await get(id);
      assert.deepEqual([session.messageCount, session.humanCount, session.toolCallCount], [5, 1, 2]);
      assert.equal(session.lastAt, T0 + 9, "the time of the newest message");
    });

    rule("is refused for a session that does not exist", async ({ store }) => {
      const messages = [user("hello")];
      assertRefused(
        await store.messages.append({ asker: EVERYONE, session: "nobody", messages, now: T0 }),
        "not_found",
      );
    });

    rule("is stored completely or not at all", async ({ create, store, shows, get }) => {
      const { id } = await create("p_ann", ["hello"]);
      const broken = user("", {
        parts: [{ type: "image", blob: "ab".repeat(32), mimeType: "image/png", size: 3 }],
      });
      const ask = { asker: EVERYONE, session: id, now: T0 };
      const good = store.messages.append({ ...ask, messages: [user("before")] });
      const bad = store.messages.append({ ...ask, messages: [user("half"), broken], blobs: [PAGES] });
      const after = store.messages.append({ ...ask, messages: [user("after")] });
      await assertRejects(bad, "invalid_input");
      assert.deepEqual([throwIfRefused(await good).seqs, throwIfRefused(await after).seqs], [[2], [3]]);
      assert.deepEqual(await shows(id), ["hello", "before", "after"]);
      assert.equal((await get(id)).messageCount, 3);
      assert.equal(await store.messages.readBlob({ asker: EVERYONE, hash: PAGES.hash }), undefined);
    });
  });

  describe("bytes", () => {
    rule("are visible only to those who may see a session that uses them", async (scene) => {
      const { create } = scene;
      const [ann, bob] = [await create("p_ann"), await create("p_bob")];
      const messages = [user("", { parts: [IMAGE] })];
      const give = async (session: string, blobs: readonly Blob[]) =>
        throwIfRefused(
          await scene.store.messages.append({ asker: EVERYONE, session, messages, blobs, now: T0 }),
        );
      const seen = async (person: string) =>
        scene.store.messages.readBlob({ asker: { person }, hash: PIXELS.hash });
      await give(ann.id, [PIXELS]);
      assert.deepEqual(await seen("p_ann"), PIXELS.bytes);
      assert.equal(await seen("p_bob"), undefined);
      // Stored bytes need not be sent again.
      await give(bob.id, []);
      await scene.reopen();
      assert.deepEqual(await seen("p_bob"), PIXELS.bytes);
      assert.equal(await scene.store.messages.readBlob({ asker: EVERYONE, hash: PAGES.hash }), undefined);
    });

    rule("are deleted with the last session that uses them", async ({ create, store, fork }) => {
      const { id } = await create("p_ann");
      const other = await create("p_ann");
      const ask = { asker: { person: "p_ann" } };
      const messages = [user("", { parts: [IMAGE] }), user("", { parts: [FILE] })];
      throwIfRefused(
        await store.messages.append({ ...ask, session: id, messages, blobs: [PIXELS, PAGES], now: T0 }),
      );
      const copy = await fork(id, { keep: 1 });
      const remove = async (session: string) =>
        assert.equal(await store.sessions.remove({ ...ask, session, now: T0 }), true);
      const left = async () =>
        (await Promise.all([PIXELS, PAGES].map(({ hash }) => store.messages.readBlob({ ...ask, hash })))).map(
          (it) => it?.length,
        );
      await remove(other.id);
      assert.deepEqual(await left(), [3, 3]);
      await remove(id);
      assert.deepEqual(await left(), [3, undefined], "the fork still shows the picture");
      await remove(copy.id);
      assert.deepEqual(await left(), [undefined, undefined]);
    });

    rule("of a pending message stay until it runs, even if sessions are removed", async (scene) => {
      const { take, claim, create, store } = scene;
      const message = user("", { parts: [IMAGE] });
      const { session, conversation } = await take(ANN, "", { message, blobs: [PIXELS] });
      const asker = { person: session.owner };
      const newSession = { id: "next", kind: "chat" as const };
      throwIfRefused(
        await store.conversations.reset({ asker, conversation: conversation.number, newSession, now: T0 }),
      );
      const other = await create(session.owner);
      for (const id of [other.id, session.id]) {
        assert.equal(await store.sessions.remove({ asker, session: id, now: T0 }), true);
      }
      assert.equal(requireValue(await claim("next")).inputs.length, 1);
      assert.deepEqual(await store.messages.readBlob({ asker, hash: PIXELS.hash }), PIXELS.bytes);
    });
  });
}
