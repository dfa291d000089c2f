import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY, MINUTE, openHome, START } from "../../test/support/test-home.ts";
import { wrapStore } from "../../test/support/wrap-store.ts";
import { getText, type Message } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import type { SessionExport } from "./export.ts";
import type { MessageInput } from "./message-input.ts";
import { createSessions, type Sessions } from "./sessions.ts";

const who = { person: OWNER };
const everyone = { everyone: true } as const;
const user = (text: string): MessageInput => ({ role: "user", text });

/** The messages without session and seq. */
const stripPositions = (messages: readonly Message[] | undefined) =>
  messages?.map(({ session: _session, seq: _seq, ...rest }) => rest);

async function exportSession(sessions: Sessions, id: string): Promise<SessionExport> {
  const file = await sessions.export(who, id);
  if (file === undefined) throw new Error(`${id} was not exported`);
  // As in a file: plain JSON.
  return JSON.parse(JSON.stringify(file));
}

describe("an exported session", () => {
  it("is the same session in another home: messages, view, bytes and counters", async () => {
    const here = await openHome();
    const { id } = await here.sessions.create(who, {
      kind: "background",
      title: "plan #2",
      cwd: "/src",
      config: { a: [1, null] },
    });
    await here.sessions.append(who, id, [
      user("first"),
      { role: "user", parts: [{ type: "image", mimeType: "image/png", data: new Uint8Array([9, 8, 7]) }] },
    ]);
    here.clock.pass(MINUTE);
    await here.sessions.append(who, id, { role: "assistant", text: "undone", reasoning: "r" });
    await here.sessions.recordUsage(who, id, {
      inputTokens: 3,
      lastPromptTokens: 2,
      costUsd: 0.5,
      model: "m",
      provider: "p",
      baseUrl: "http://x",
    });
    here.clock.pass(DAY);
    await here.sessions.recordUsage(who, id, { outputTokens: 4 }, { purpose: "title" });
    await here.sessions.rewind(who, id, { seq: 2 });
    await here.sessions.change(who, id, { ended: true, archived: true });
    const file = await exportSession(here.sessions, id);

    const there = await openHome();
    there.clock.pass(DAY);
    const imported = await there.sessions.import(file);
    expect(imported).toEqual(await here.sessions.get(who, id));
    expect(await there.sessions.history(who, id)).toEqual(await here.sessions.history(who, id));
    expect(await there.sessions.messages(who, id)).toEqual(await here.sessions.messages(who, id));
    expect(await there.sessions.ranges(who, id)).toEqual(await here.sessions.ranges(who, id));
    const used = await there.sessions.usageEntries(who, id);
    expect(used).toEqual(await here.sessions.usageEntries(who, id));
    expect(used?.map(({ purpose }) => purpose)).toEqual(["answer", "title"]);
    expect(await there.sessions.search(who, "undone")).toEqual([]);
    expect(await there.sessions.search(who, "undone", { undone: true })).toHaveLength(1);
    const [hash = ""] = Object.keys(file.blobs);
    expect(await there.sessions.blob(who, hash)).toEqual(new Uint8Array([9, 8, 7]));
    expect(await exportSession(there.sessions, id)).toEqual(file);
  });

  it("is refused if its usage does not add up to its counters, and accepted without usage", async () => {
    const here = await openHome();
    const { id } = await here.sessions.create(who);
    await here.sessions.recordUsage(who, id, { inputTokens: 3 });
    const file = await exportSession(here.sessions, id);
    const there = await openHome();
    const [entry] = file.usage;
    for (const [usage, field] of [
      [[{ ...entry, input_tokens: 2 }], "usage"],
      [[{ ...entry, purpose: "fun" }], "usage[0].purpose"],
      [[{ ...entry, at: null }], "usage[0].at"],
      [{}, "usage"],
    ] as const) {
      const refused = { code: "invalid_input", details: { field } };
      await expect(there.sessions.import({ ...file, usage })).rejects.toMatchObject(refused);
    }
    const { usage: _, ...older } = file;
    expect((await there.sessions.import(older)).usage.inputTokens).toBe(3);
    expect(await there.sessions.usageEntries(who, id)).toHaveLength(1);
  });

  it("keeps its origin and owner", async () => {
    const here = await openHome();
    const from = { platform: "discord", chatId: "g:1", chatType: "group", chatName: "G", userId: "a" };
    const { session } = await here.sessions.open(from, { person: "p_alice" });
    const file = await here.sessions.export(everyone, session.id);
    const there = await openHome();
    const imported = await there.sessions.import(file);
    expect(imported).toEqual(session);
    expect(imported).toMatchObject({ owner: "p_alice", audience: "chat:discord:g:1", displayName: "G" });
  });

  it("of a fork is complete: it contains the messages that it shows from its origin, and no others", async () => {
    const here = await openHome();
    const { id } = await here.sessions.create(who);
    await here.sessions.append(who, id, [user("shared"), user("private")]);
    const fork = await here.sessions.fork(who, id, { keep: 1 });
    await here.sessions.append(who, fork.id, [user("own"), user("undone")]);
    await here.sessions.undo(who, fork.id);
    const file = await exportSession(here.sessions, fork.id);
    expect(JSON.stringify(file)).not.toContain("private");
    const { sessions } = await openHome();
    const imported = await sessions.import(file);
    expect(imported.parent).toBe(id);
    expect(stripPositions(await sessions.history(who, fork.id))).toEqual(
      stripPositions(await here.sessions.history(who, fork.id)),
    );
    expect((await sessions.messages(who, fork.id))?.slice(0, 2)).toEqual(
      await here.sessions.messages(who, fork.id),
    );
    await sessions.append(who, fork.id, user("goes on"));
    expect(stripPositions(await sessions.history(who, fork.id))?.map(({ parts }) => parts)).toEqual(
      ["shared", "own", "goes on"].map((text) => [{ type: "text", text }]),
    );
    await sessions.rewind(who, fork.id, { seq: 1 });
    expect(await sessions.search(who, "undone")).toEqual([]);
  });

  it("gets another owner on request, with a title that is free for that owner", async () => {
    const here = await openHome();
    const { id } = await here.sessions.create(who, { title: "plan" });
    const file = await exportSession(here.sessions, id);
    const { sessions } = await openHome();
    await sessions.create({ person: "p_bob" }, { id: "theirs", title: "plan" });
    const imported = await sessions.import(file, { owner: "p_bob" });
    expect(imported).toMatchObject({ id, owner: "p_bob", title: "plan #2" });
    expect(await sessions.get(who, id)).toBeUndefined();
  });

  it("does not replace an existing session", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, user("here"));
    const file = await exportSession(sessions, id);
    await sessions.append(who, id, user("since then"));
    await expect(sessions.import(file)).rejects.toMatchObject({ code: "invalid_input" });
    expect(await sessions.shownLength(who, id)).toBe(2);
    const { sessions: there } = await openHome();
    await there.import(file);
    await expect(there.import(file)).rejects.toMatchObject({ code: "invalid_input" });
    expect(await there.stats(who)).toMatchObject({ sessions: 1, messages: 1 });
  });

  it("is not found for people who may not see it, and for an invalid id", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    expect(await sessions.export({ person: "p_bob" }, id)).toBeUndefined();
    expect(await sessions.export(who, id.slice(0, -1))).toBeUndefined();
    await expect(sessions.export(who, "../x")).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("is consistent, even if others write during the export", async () => {
    for (const [meanwhile, shown, all] of [
      ["append", ["one", "two"], 2],
      ["undo", ["one"], 2],
      ["rewrite", ["new"], 3],
    ] as const) {
      const { sessions, store, clock } = await openHome();
      const { id } = await sessions.create(who);
      await sessions.append(who, id, [user("one"), user("two")]);
      let once = true;
      const interrupted = wrapStore(store, async ({ name, run }) => {
        if (name === "listMessages" && once) {
          once = false;
          if (meanwhile === "append") await sessions.append(who, id, user("three"));
          if (meanwhile === "undo") await sessions.undo(who, id);
          if (meanwhile === "rewrite") await sessions.rewrite(who, id, [user("new")]);
        }
        return run();
      });
      const file = await exportSession(createSessions({ store: interrupted, clock, zone: "UTC" }), id);
      const { sessions: there } = await openHome();
      await there.import(file);
      expect(((await there.history(who, id)) ?? []).map(getText)).toEqual(shown);
      expect(file.messages).toHaveLength(all);
      expect(file.session.message_count).toBe(all);
    }
  });
});

describe("an invalid or altered export", () => {
  it("is refused with a code and the field, and nothing is imported", async () => {
    const here = await openHome();
    const { id } = await here.sessions.create(who);
    await here.sessions.append(who, id, [
      user("one"),
      { role: "user", parts: [{ type: "file", mimeType: "text/plain", data: new Uint8Array([1]) }] },
    ]);
    const file = await exportSession(here.sessions, id);
    const [hash = ""] = Object.keys(file.blobs);
    const { sessions } = await openHome();
    const session = (change: object) => ({ ...file, session: { ...file.session, ...change } });
    const message = (change: object) => ({
      ...file,
      messages: [{ ...file.messages[0], ...change }, file.messages[1]],
    });
    const altered: readonly (readonly [unknown, string])[] = [
      [undefined, "export"],
      ["{}", "export"],
      [[], "export"],
      [{}, "format"],
      [{ ...file, version: 2 }, "format"],
      [{ ...file, session: null }, "session"],
      [{ ...file, messages: {} }, "messages"],
      [{ ...file, messages: [null] }, "messages[0]"],
      [message({ parts: undefined }), "messages[0].parts"],
      [message({ parts: [5] }), "messages[0].parts[0]"],
      [message({ role: "robot" }), "role"],
      [message({ at: "yesterday" }), "at"],
      [message({ tool_calls: [1] }), "messages[0].tool_calls[0]"],
      [message({ origin: 1 }), "messages[0].origin"],
      [session({ id: "../../etc" }), "session_id"],
      [session({ id: null }), "session_id"],
      [session({ owner: 7 }), "owner"],
      [session({ kind: "robot" }), "kind"],
      [session({ title: "x".repeat(101) }), "title"],
      [session({ cwd: {} }), "cwd"],
      [session({ config: [] }), "config"],
      [session({ origin: { platform: "telegram" } }), "chat_id"],
      [session({ created_at: "2026" }), "created_at"],
      [session({ ended_at: -1 }), "ended_at"],
      [session({ end_reason: "x".repeat(101) }), "end_reason"],
      [session({ input_tokens: "many" }), "input_tokens"],
      [session({ estimated_cost_usd: -1 }), "cost_usd"],
      [session({ model: 4 }), "model"],
      [{ ...file, shows: [{ from: 1, to: 3 }] }, "shows[0]"],
      [{ ...file, shows: [{ from: 2, to: 1 }] }, "shows[0]"],
      [{ ...file, shows: [{ from: 0, to: 1 }] }, "shows[0]"],
      [
        {
          ...file,
          shows: [
            { from: 1, to: 2 },
            { from: 2, to: 2 },
          ],
        },
        "shows",
      ],
      [{ ...file, hidden: [{ from: 1, to: 1 }] }, "shows"],
      [{ ...file, hidden: "none" }, "hidden"],
      [{ ...file, blobs: { [hash]: "AAAA" } }, `blobs.${hash}`],
      [{ ...file, blobs: {} }, `blobs.${hash}`],
      [{ ...file, blobs: undefined }, "blobs"],
    ];
    for (const [json, field] of altered)
      await expect(sessions.import(json), field).rejects.toMatchObject({
        code: "invalid_input",
        details: { field },
      });
    expect(await sessions.stats(everyone)).toMatchObject({ sessions: 0, messages: 0 });
    expect(await sessions.blob(everyone, hash)).toBeUndefined();
    expect(await sessions.import(file)).toMatchObject({ id });
  });

  it("may omit times and counters, which are then computed", async () => {
    const { sessions } = await openHome();
    const imported = await sessions.import({
      format: "postrider.session",
      version: 1,
      session: { id: "bare" },
      messages: [{ role: "user", parts: [{ type: "text", text: "hi" }] }],
      shows: [{ from: 1, to: 1 }],
      hidden: [],
      blobs: {},
    });
    expect(imported).toMatchObject({ id: "bare", owner: OWNER, kind: "chat", createdAt: START });
    expect(imported).toMatchObject({ messageCount: 1, humanCount: 1, usage: { totalTokens: 0 } });
  });
});

const text = fc.string({ unit: "binary", maxLength: 12 });
const bytes = fc.uint8Array({ maxLength: 6 });
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
const part = fc.oneof(
  text.map((value) => ({ type: "text" as const, text: value })),
  fc.record(
    { type: fc.constantFrom("image" as const, "file" as const), mimeType: text, name: text, data: bytes },
    { requiredKeys: ["type", "mimeType", "data"] },
  ),
  fc.record(
    { type: fc.constant("resource" as const), uri: text, mimeType: text, text },
    { requiredKeys: ["type", "uri"] },
  ),
);
const anyMessage = fc.record(
  {
    role: fc.constantFrom("user" as const, "assistant" as const, "tool" as const, "note" as const),
    parts: fc.array(part, { maxLength: 3 }),
    at: fc.nat(),
    toolCalls: fc.array(fc.record({ id: text, name: text, arguments: json }), { maxLength: 2 }),
    toolCallId: text,
    toolName: text,
    reasoning: text,
    finishReason: text,
    tokens: fc.nat(),
    origin: fc.record(
      {
        platform: text,
        platformMessageId: text,
        userId: text,
        userName: text,
        proactive: fc.boolean(),
        interrupted: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    extra: fc.dictionary(text, json, { maxKeys: 2 }),
  },
  { requiredKeys: ["role", "parts"] },
) as fc.Arbitrary<MessageInput>;
const operation = fc.record({
  do: fc.constantFrom("append", "undo", "redo", "rewind", "rewrite", "compress", "restore", "fork", "leave"),
  messages: fc.array(anyMessage, { maxLength: 3 }),
  n: fc.nat(4),
});

describe("any session", () => {
  it("is unchanged by export and import", async () => {
    const here = await openHome();
    const there = await openHome();
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 8 }), async (operations) => {
        let { id } = await here.sessions.create(who);
        await here.sessions.append(who, id, [user("begin"), user("go on")]);
        for (const { do: kind, messages, n } of operations) {
          const { sessions } = here;
          const attempt = {
            append: () => sessions.append(who, id, messages),
            undo: () => sessions.undo(who, id),
            redo: () => sessions.redo(who, id),
            rewind: () => sessions.rewind(who, id, { seq: n + 1 }),
            rewrite: () => sessions.rewrite(who, id, messages),
            compress: () => sessions.compress(who, id, "sum", { keepLast: n }),
            restore: () => sessions.restore(who, id, n),
            fork: async () => {
              id = (await sessions.fork(who, id)).id;
            },
            /** A fork whose origin was removed. */
            leave: async () => {
              const origin = id;
              id = (await sessions.fork(who, origin)).id;
              await sessions.remove(who, origin);
            },
          }[kind];
          await attempt?.().catch((error: { code?: string }) =>
            expect(["nothing_to_undo", "nothing_to_redo", "not_found"]).toContain(error.code),
          );
        }
        const file = await exportSession(here.sessions, id);
        const imported = await there.sessions.import(file);
        const own = (await here.sessions.messages(who, id)) ?? [];
        expect(stripPositions(await there.sessions.history(who, id))).toEqual(
          stripPositions(await here.sessions.history(who, id)),
        );
        expect((await there.sessions.messages(who, id))?.slice(0, own.length)).toEqual(own);
        expect((await there.sessions.ranges(who, id))?.hidden).toEqual(
          (await here.sessions.ranges(who, id))?.hidden,
        );
        const again = await exportSession(there.sessions, id);
        expect(again.blobs).toEqual(file.blobs);
        expect(again.shows).toEqual(file.shows);
        expect(again.hidden).toEqual(file.hidden);
        expect(imported.lastAt).toBe(Math.max(START, ...file.messages.map(({ at }) => Number(at))));
      }),
      { numRuns: 150 },
    );
  });
});
