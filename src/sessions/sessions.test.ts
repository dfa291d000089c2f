import { readFileSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DAY, fakeClock, HOUR, MINUTE, openHome, START } from "../../test/support/test-home.ts";
import { getText, type Message } from "../core/message.ts";
import { getChatAudience, OWNER } from "../core/owner.ts";
import { NO_RESET } from "../core/reset-policy.ts";
import { localSource, type SourceInput, source } from "../core/source.ts";
import { localRunner } from "../system/local-runner.ts";
import type { MessageInput } from "./message-input.ts";
import { buildRouting, DEFAULT_RESET } from "./routing.ts";
import type { Sessions } from "./sessions.ts";
import { createSessions } from "./sessions.ts";

const who = { person: OWNER };
const bob = { person: "p_bob" };
const everyone = { everyone: true } as const;
const unknown = "20200101_000000_00000000";

const user = (text: string): MessageInput => ({ role: "user", text });
const assistant = (text: string): MessageInput => ({ role: "assistant", text });
const texts = (messages: readonly Message[] | undefined): string[] => (messages ?? []).map(getText);
const code = (value: string, more: object = {}) => ({ code: value, ...more });

/** A session with `rounds` questions and answers: q1, a1, q2, a2, … */
async function talk(sessions: Sessions, rounds: number, id?: string): Promise<string> {
  const session = id ?? (await sessions.create(who)).id;
  for (let i = 1; i <= rounds; i++) await sessions.append(who, session, [user(`q${i}`), assistant(`a${i}`)]);
  return session;
}

describe("creating a session", () => {
  it("gives it an id with its time, a short handle and an owner", async () => {
    const { sessions } = await openHome();
    const session = await sessions.create(who);
    expect(session.id).toMatch(/^20260315_100000_[0-9a-f]{8}$/);
    expect(session.handle).toMatch(/^[a-z][a-z2-9]{2}$/);
    expect(session).toMatchObject({ owner: OWNER, kind: "chat", profile: "main", createdAt: START });
    expect(session).toMatchObject({ lastAt: START, messageCount: 0, humanCount: 0, toolCallCount: 0 });
    expect(await sessions.get(who, session.id)).toEqual(session);
  });

  it("accepts an id, a kind, a title, a folder, a model and a configuration", async () => {
    const { sessions } = await openHome();
    const made = await sessions.create(who, {
      id: "mine-1",
      kind: "background",
      title: "  My\tproject ",
      cwd: "/src",
      model: "m",
      provider: "p",
      baseUrl: "http://localhost",
      config: { temperature: 0.5, nested: { list: [1, null] } },
    });
    expect(made).toMatchObject({ id: "mine-1", kind: "background", title: "My project", cwd: "/src" });
    expect(made.usage).toMatchObject({ model: "m", provider: "p", baseUrl: "http://localhost" });
    expect(made.config).toEqual({ temperature: 0.5, nested: { list: [1, null] } });
  });

  it("refuses an existing id, and changes nothing", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who, { id: "mine" });
    await sessions.append(who, id, user("one"));
    await expect(sessions.create(who, { id: "mine" })).rejects.toMatchObject(code("invalid_input"));
    await expect(sessions.create(bob, { id: "mine" })).rejects.toMatchObject(code("invalid_input"));
    await sessions.append(who, id, user("two"));
    expect(texts(await sessions.history(who, id))).toEqual(["one", "two"]);
    expect((await sessions.search(who, "two")).map(({ session }) => session)).toEqual([id]);
  });

  it("generates another id if the first one exists, for new sessions and forks", async () => {
    const chances = [7, 7, 8, 8, 7, 9];
    const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(chances.shift() ?? 10);
    const { store } = await openHome();
    const sessions = createSessions({ store, zone: "UTC", clock: { ...fakeClock(0), random } });
    const first = await sessions.create(who);
    const second = await sessions.create(who);
    const third = await sessions.fork(who, first.id);
    expect([first, second, third].map(({ id }) => id.slice(-8))).toEqual([
      "07070707",
      "08080808",
      "09090909",
    ]);
  });

  it("refuses an id that is unsafe in a path", async () => {
    const { sessions } = await openHome();
    for (const id of ["", "../x", "a/b", "a b", ".hidden", "x".repeat(129)])
      await expect(sessions.create(who, { id })).rejects.toMatchObject(code("invalid_input"));
  });
});

describe("a message", () => {
  it("is on disk when append resolves, and complete after a restart", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    expect(await home.sessions.append(who, id, user("hello"))).toEqual([1]);
    home.clock.pass(MINUTE);
    expect(await home.sessions.append(who, id, [assistant("hi"), user("bye")])).toEqual([2, 3]);
    expect(await home.sessions.append(who, id, [])).toEqual([]);
    const { sessions } = await home.restart();
    expect(await sessions.history(who, id)).toEqual([
      { session: id, seq: 1, at: START, role: "user", parts: [{ type: "text", text: "hello" }] },
      { session: id, seq: 2, at: START + MINUTE, role: "assistant", parts: [{ type: "text", text: "hi" }] },
      { session: id, seq: 3, at: START + MINUTE, role: "user", parts: [{ type: "text", text: "bye" }] },
    ]);
    expect(await sessions.get(who, id)).toMatchObject({
      messageCount: 3,
      humanCount: 2,
      lastAt: START + MINUTE,
    });
  });

  it("is shown even if it is short", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    for (const said of [1, 2, 3]) {
      await sessions.append(who, id, user(`${said}`));
      expect(await sessions.history(who, id)).toHaveLength(said);
    }
  });

  it("keeps every field of every role", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    const given: MessageInput[] = [
      {
        role: "user",
        text: "look",
        at: 5,
        origin: { platform: "signal", platformMessageId: "m1", userId: "7", userName: "Ann" },
      },
      {
        role: "assistant",
        parts: [],
        reasoning: "hm",
        finishReason: "tool_calls",
        tokens: 0,
        toolCalls: [
          { id: "c1", name: "ls", arguments: { path: ["/", null] } },
          { id: "c2", name: "ls", arguments: "not json" },
        ],
        extra: { reasoning_details: [{ type: "text", n: 1.5 }], codex_items: [] },
      },
      { role: "tool", text: "", toolCallId: "c1", toolName: "ls" },
      { role: "note", text: "", extra: { tools: ["ls"], model: "m" } },
    ];
    await sessions.append(who, id, given);
    const stored = (await sessions.history(who, id)) ?? [];
    expect(stored.map(({ session: _s, seq: _q, ...rest }) => rest)).toEqual(
      given.map(({ text, ...rest }) => ({
        at: START,
        ...rest,
        parts: text === undefined ? [] : [{ type: "text", text }],
      })),
    );
  });

  it("counts two parallel tool calls as two and a tool's answer as none", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    const call = (n: number) => ({ id: `c${n}`, name: "run", arguments: {} });
    await sessions.append(who, id, { role: "assistant", text: "", toolCalls: [call(1), call(2)] });
    await sessions.append(who, id, { role: "tool", text: "done", toolCallId: "c1", toolName: "run" });
    expect(await sessions.get(who, id)).toMatchObject({ toolCallCount: 2, messageCount: 2, humanCount: 0 });
  });

  it("keeps the content of a note, does not count it as human, and keeps the mark of a proactive message", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who);
    await home.sessions.append(who, id, [
      { role: "note", text: "", extra: { tools: ["a"], model: "m" } },
      { role: "assistant", text: "Your job is done.", origin: { platform: "telegram", proactive: true } },
    ]);
    const { sessions } = await home.restart();
    const [note, mirror] = (await sessions.history(who, id)) ?? [];
    expect(note?.extra).toEqual({ tools: ["a"], model: "m" });
    expect(mirror?.origin).toEqual({ platform: "telegram", proactive: true });
    expect((await sessions.get(who, id))?.humanCount).toBe(0);
    expect((await sessions.list(who)).items[0]?.preview).toBe("");
  });

  it("is refused together with all others if one is invalid", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    const bad = { role: "robot", text: "x" } as unknown as MessageInput;
    await expect(sessions.append(who, id, [user("one"), bad])).rejects.toMatchObject(
      code("invalid_input", { details: { field: "role" } }),
    );
    expect(await sessions.history(who, id)).toEqual([]);
  });

  it("is refused for a missing session, and nothing is stored", async () => {
    const { sessions } = await openHome();
    await expect(sessions.append(who, unknown, user("lost?"))).rejects.toMatchObject(code("not_found"));
    await expect(sessions.append(who, "no/id", user("lost?"))).rejects.toMatchObject(code("invalid_input"));
    expect(await sessions.search(everyone, "lost")).toEqual([]);
  });

  it("is accepted by any session that a conversation points to", async () => {
    const home = await openHome();
    const from = { platform: "telegram", chatId: "1", userId: "1" };
    for (const step of ["first contact", "reset", "restart"]) {
      if (step === "reset") home.clock.pass(2 * DAY);
      const { sessions } = await home.again();
      const { session } = await sessions.open(from);
      await sessions.append(everyone, session.id, user(step));
      expect(texts(await sessions.history(everyone, session.id))).toContain(step);
    }
  });

  it("can be read in pages, and after a seq", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 3);
    expect(texts(await sessions.history(who, id, { offset: 2, limit: 2 }))).toEqual(["q2", "a2"]);
    expect(texts(await sessions.history(who, id, { offset: 99 }))).toEqual([]);
    expect(texts(await sessions.messages(who, id, { after: 4 }))).toEqual(["q3", "a3"]);
    expect(texts(await sessions.messages(who, id, { after: 1, limit: 1 }))).toEqual(["a1"]);
    expect(await sessions.shownLength(who, id)).toBe(6);
  });

  it("takes the same disk space with any number of sessions", async () => {
    const { sessions, file } = await openHome();
    const { id } = await sessions.create(who);
    const bytesOfTwentyMessages = async (): Promise<number> => {
      const other = new Database(file);
      other.pragma("wal_checkpoint(TRUNCATE)");
      other.close();
      for (let i = 0; i < 20; i++) await sessions.append(who, id, user("the same message, again and again"));
      return statSync(`${file}-wal`).size;
    };
    for (let i = 0; i < 9; i++) await sessions.create(who);
    const few = await bytesOfTwentyMessages();
    await Promise.all(Array.from({ length: 1990 }, () => sessions.create(who)));
    const many = await bytesOfTwentyMessages();
    expect((await sessions.stats(who)).sessions).toBe(2000);
    expect(few).toBeGreaterThan(0);
    expect(many).toBeLessThan(2 * few);
  });

  it("can be read while another process writes to the database", async () => {
    const home = await openHome({ mode: "workers" });
    const { id } = await home.sessions.create(who);
    await home.sessions.append(who, id, user("hello"));
    const other = new Database(home.file);
    other.exec("begin immediate");
    const waiting = home.sessions.append(who, id, user("later"));
    expect(texts(await home.sessions.history(who, id))).toEqual(["hello"]);
    expect(await home.sessions.search(who, "hello")).toHaveLength(1);
    expect((await home.sessions.list(who)).items).toHaveLength(1);
    other.exec("commit");
    other.close();
    expect(await waiting).toEqual([2]);
    expect(texts(await home.sessions.history(who, id))).toEqual(["hello", "later"]);
  });
});

describe("the bytes of a message", () => {
  it("are stored once, and readable for those who may see the message", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    const data = new Uint8Array([0, 255, 1, 2]);
    const image = { type: "image", mimeType: "image/png", name: "a.png", data } as const;
    await sessions.append(who, id, [{ role: "user", parts: [image, image] }]);
    const [message] = (await sessions.history(who, id)) ?? [];
    const [part] = message?.parts ?? [];
    expect(part).toMatchObject({ type: "image", mimeType: "image/png", name: "a.png", size: 4 });
    const hash = part !== undefined && "blob" in part ? (part.blob ?? "") : "";
    expect(await sessions.blob(who, hash)).toEqual(data);
    expect(await sessions.blob(bob, hash)).toBeUndefined();
    expect(await sessions.blob(who, "0".repeat(64))).toBeUndefined();
  });

  it("are required: a part that refers to missing bytes is refused", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    const dangling = { type: "file", mimeType: "text/plain", size: 1, blob: "ab".repeat(32) } as const;
    await expect(
      sessions.append(who, id, [user("see"), { role: "user", parts: [dangling] }]),
    ).rejects.toMatchObject(code("invalid_input"));
    expect(await sessions.history(who, id)).toEqual([]);
  });
});

describe("changing the view", () => {
  it("undoes the last human message with everything after it, and returns it", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 2);
    const undone = await sessions.undo(who, id);
    expect(undone).toMatchObject({ before: 4, length: 2, firstCut: { seq: 3, role: "user" } });
    expect(texts(await sessions.history(who, id))).toEqual(["q1", "a1"]);
    expect(texts(await sessions.messages(who, id))).toEqual(["q1", "a1", "q2", "a2"]);
    await sessions.undo(who, id);
    expect(await sessions.history(who, id)).toEqual([]);
    await expect(sessions.undo(who, id)).rejects.toMatchObject(code("nothing_to_undo"));
  });

  it("redoes undone messages step by step, until a new message", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 2);
    await sessions.undo(who, id);
    await sessions.undo(who, id);
    expect(await sessions.redo(who, id)).toMatchObject({ before: 0, length: 2 });
    expect(await sessions.redo(who, id)).toMatchObject({ before: 2, length: 4 });
    await expect(sessions.redo(who, id)).rejects.toMatchObject(code("nothing_to_redo"));
    await sessions.undo(who, id);
    await sessions.append(who, id, user("another way"));
    await expect(sessions.redo(who, id)).rejects.toMatchObject(code("nothing_to_redo"));
  });

  it("stores messages after an undo in order", async () => {
    const home = await openHome();
    const id = await talk(home.sessions, 2);
    await home.sessions.undo(who, id);
    expect(await home.sessions.append(who, id, [user("q2, better"), assistant("a2, better")])).toEqual([
      5, 6,
    ]);
    const { sessions } = await home.restart();
    expect(texts(await sessions.history(who, id))).toEqual(["q1", "a1", "q2, better", "a2, better"]);
    expect(await sessions.search(who, "better")).toHaveLength(2);
  });

  it("rewinds to any shown message", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 3);
    expect(await sessions.rewind(who, id, { seq: 2 })).toMatchObject({ length: 2, firstCut: { seq: 3 } });
    expect(texts(await sessions.history(who, id))).toEqual(["q1", "a1"]);
    await expect(sessions.rewind(who, id, { seq: 5 })).rejects.toMatchObject(code("not_found"));
    await sessions.redo(who, id);
    expect(await sessions.shownLength(who, id)).toBe(6);
  });

  it("rewrites four messages to two or none, and deletes no message", async () => {
    const home = await openHome();
    const id = await talk(home.sessions, 2);
    await home.sessions.rewrite(who, id, [user("short"), assistant("shorter")]);
    const two = await home.restart();
    expect(texts(await two.sessions.history(who, id))).toEqual(["short", "shorter"]);
    await two.sessions.rewrite(who, id, []);
    const none = await two.restart();
    expect(await none.sessions.history(who, id)).toEqual([]);
    expect(texts(await none.sessions.messages(who, id))).toEqual([
      "q1",
      "a1",
      "q2",
      "a2",
      "short",
      "shorter",
    ]);
  });

  it("changes nothing if a rewrite fails at its last message", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 2);
    const before = await sessions.history(who, id);
    const dangling = { type: "file", mimeType: "text/plain", size: 1, blob: "ab".repeat(32) } as const;
    const course = [user("x"), { role: "user", parts: [dangling] } as const];
    await expect(sessions.rewrite(who, id, course)).rejects.toMatchObject(code("invalid_input"));
    expect(await sessions.history(who, id)).toEqual(before);
    expect(await sessions.versions(who, id)).toEqual([]);
    expect(await sessions.messages(who, id)).toHaveLength(4);
  });

  it("compresses to a summary and the last messages; the originals stay and are found", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, [
      user("where is the zebra"),
      { role: "assistant", text: "", toolCalls: [{ id: "c", name: "look", arguments: {} }] },
      { role: "tool", text: "in the zoo", toolCallId: "c", toolName: "look" },
      assistant("In the zoo."),
    ]);
    expect(await sessions.compress(who, id, "About an animal.", { keepLast: 1 })).toMatchObject({
      before: 4,
      length: 2,
    });
    const shown = (await sessions.history(who, id)) ?? [];
    expect(shown.map(({ role }) => role)).toEqual(["note", "assistant"]);
    expect(shown[0]?.extra).toEqual({ summary: true });
    expect(await sessions.append(who, id, user("thanks"))).toEqual([6]);
    expect(texts(await sessions.history(who, id))).toEqual(["About an animal.", "In the zoo.", "thanks"]);
    expect((await sessions.messages(who, id))?.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "note",
      "user",
    ]);
    expect((await sessions.search(who, "zebra")).map(({ seq }) => seq)).toEqual([1]);
  });

  it("keeps earlier versions and restores any of them", async () => {
    const { sessions, clock } = await openHome();
    const id = await talk(sessions, 2);
    clock.pass(MINUTE);
    await sessions.compress(who, id, "sum");
    await sessions.append(who, id, user("q3"));
    await sessions.undo(who, id);
    const versions = await sessions.versions(who, id);
    expect(versions.map(({ version, kind, length }) => [version, kind, length])).toEqual([
      [2, "undo", 1],
      [1, "compress", 2],
      [0, "begin", 4],
    ]);
    expect(await sessions.restore(who, id, 0)).toMatchObject({ before: 1, length: 4 });
    expect(texts(await sessions.history(who, id))).toEqual(["q1", "a1", "q2", "a2"]);
    await sessions.restore(who, id, 1);
    expect(texts(await sessions.history(who, id))).toEqual(["sum", "q3"]);
    await expect(sessions.restore(who, id, 77)).rejects.toMatchObject(code("not_found"));
  });

  it("keeps a version for thirty days after it was replaced, for a session of any age", async () => {
    const { sessions, clock } = await openHome();
    const id = await talk(sessions, 1);
    clock.pass(100 * DAY);
    await sessions.undo(who, id);
    await sessions.redo(who, id);
    await sessions.compress(who, id, "sum");
    await sessions.restore(who, id, 0);
    expect(texts(await sessions.history(who, id))).toEqual(["q1", "a1"]);
    clock.pass(31 * DAY);
    await sessions.compress(who, id, "sum again");
    expect((await sessions.versions(who, id)).map(({ kind }) => kind)).toEqual(["compress", "restore"]);
  });

  it("refuses a missing session", async () => {
    const { sessions } = await openHome();
    for (const attempt of [
      sessions.undo(who, unknown),
      sessions.redo(who, unknown),
      sessions.rewind(who, unknown, { seq: 1 }),
      sessions.rewrite(who, unknown, []),
      sessions.compress(who, unknown, "s"),
      sessions.restore(who, unknown, 0),
      sessions.fork(who, unknown),
    ])
      await expect(attempt).rejects.toMatchObject(code("not_found"));
    expect(await sessions.versions(who, unknown)).toEqual([]);
  });

  it("is refused while a turn runs", async () => {
    const { sessions, store, clock } = await openHome();
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    const settings = { zone: "UTC", profile: "main", reset: DEFAULT_RESET, scope: {}, clock };
    const accepted = await store.inbox.accept({
      ...buildRouting(localSource(), settings),
      messageId: "1",
      message: { role: "user", parts: [{ type: "text", text: "go" }] },
      claim: { runner: runner.id, take: "one" },
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("no turn began");
    const { id } = accepted.session;
    await expect(sessions.undo(who, id)).rejects.toMatchObject(code("session_busy"));
    await expect(sessions.rewrite(who, id, [])).rejects.toMatchObject(code("session_busy"));
    await expect(sessions.remove(who, id)).rejects.toMatchObject(code("session_busy"));
    const { number: turn, fence } = accepted.turn;
    await store.turns.finish({ turn, fence, outcome: "done", messages: [], now: clock.now() });
    expect(await sessions.undo(who, id)).toMatchObject({ before: 1, length: 0 });
  });

  it("never loses or changes a message in any sequence of operations", async () => {
    const { sessions } = await openHome();
    const operation = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constant("append" as const), n: fc.integer({ min: 1, max: 3 }) }),
      },
      fc.record({
        do: fc.constantFrom(
          "undo" as const,
          "redo" as const,
          "rewind" as const,
          "rewrite" as const,
          "compress" as const,
          "restore" as const,
        ),
        n: fc.nat(5),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
        const { id } = await sessions.create(who);
        const said: Message[] = [];
        for (const [turn, { do: kind, n }] of operations.entries()) {
          const words = Array.from({ length: n }, (_, i) => user(`${turn}.${i}`));
          const expected = new Set(["nothing_to_undo", "nothing_to_redo", "not_found"]);
          await {
            append: () => sessions.append(who, id, words),
            undo: () => sessions.undo(who, id),
            redo: () => sessions.redo(who, id),
            rewind: () => sessions.rewind(who, id, { seq: n + 1 }),
            rewrite: () => sessions.rewrite(who, id, words),
            compress: () => sessions.compress(who, id, "summary", { keepLast: n }),
            restore: () => sessions.restore(who, id, n),
          }
            [kind]()
            .catch((error) => expect(expected).toContain(error.code));
          const now = (await sessions.messages(who, id)) ?? [];
          expect(now.slice(0, said.length)).toEqual(said);
          expect(now.map(({ seq }) => seq)).toEqual(now.map((_, i) => i + 1));
          const shown = (await sessions.history(who, id)) ?? [];
          for (const message of shown) expect(now[message.seq - 1]).toEqual(message);
          said.splice(0, said.length, ...now);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("a fork", () => {
  it("shows the same messages and is then independent", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 2);
    const fork = await sessions.fork(who, id);
    expect(fork).toMatchObject({ parent: id, owner: OWNER, messageCount: 0 });
    await sessions.append(who, fork.id, user("left"));
    await sessions.append(who, id, user("right"));
    expect(texts(await sessions.history(who, fork.id))).toEqual(["q1", "a1", "q2", "a2", "left"]);
    expect(texts(await sessions.history(who, id))).toEqual(["q1", "a1", "q2", "a2", "right"]);
    await sessions.undo(who, fork.id);
    await sessions.undo(who, fork.id);
    expect(await sessions.shownLength(who, fork.id)).toBe(2);
    expect(await sessions.shownLength(who, id)).toBe(5);
  });

  it("can start at an earlier message, with its own id, folder and model", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who, { cwd: "/a", model: "m", config: { x: 1 } });
    await talk(sessions, 2, id);
    const fork = await sessions.fork(who, id, { keep: 2, id: "fork-1", cwd: "/b" });
    expect(fork).toMatchObject({ id: "fork-1", cwd: "/b", config: { x: 1 }, usage: { model: "m" } });
    expect(texts(await sessions.history(who, fork.id))).toEqual(["q1", "a1"]);
    await expect(sessions.fork(who, id, { id: "fork-1" })).rejects.toMatchObject(code("invalid_input"));
    await expect(sessions.fork(who, id, { keep: -1 })).rejects.toMatchObject(code("invalid_input"));
  });

  it("keeps its own title if that is free", async () => {
    const { sessions } = await openHome();
    const person = { person: OWNER };
    const { id } = await sessions.create(person, { title: "plan" });
    expect((await sessions.fork(person, id, { title: "plan #7" })).title).toBe("plan #7");
    expect((await sessions.fork(person, id, { title: "plan" })).title).toBe("plan #8");
  });

  it("of a titled session gets the next number", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who, { title: "plan" });
    expect((await sessions.fork(who, id)).title).toBe("plan #2");
    expect((await sessions.fork(who, id)).title).toBe("plan #3");
    expect((await sessions.fork(who, id, { title: "other" })).title).toBe("other");
  });

  it("takes the same time at any length", async () => {
    const { sessions, file } = await openHome();
    const { id } = await sessions.create(who);
    const bytesOfFork = async (): Promise<number> => {
      const other = new Database(file);
      other.pragma("wal_checkpoint(TRUNCATE)");
      other.close();
      await sessions.fork(who, id);
      return statSync(`${file}-wal`).size;
    };
    await sessions.append(who, id, user("one"));
    const short = await bytesOfFork();
    await sessions.append(
      who,
      id,
      Array.from({ length: 3000 }, (_, i) => user(`message ${i}`)),
    );
    const long = await bytesOfFork();
    expect(short).toBeGreaterThan(0);
    expect(long).toBeLessThan(2 * short);
  });

  it("stays complete when its origin is removed or pruned", async () => {
    const { sessions, clock } = await openHome();
    const first = await talk(sessions, 2);
    const fork = await sessions.fork(who, first, { keep: 3 });
    expect(await sessions.remove(who, first)).toBe(true);
    expect(texts(await sessions.history(who, fork.id))).toEqual(["q1", "a1", "q2"]);
    expect((await sessions.search(who, "q2")).map(({ session }) => session)).toEqual([fork.id]);
    expect(await sessions.search(who, "a2")).toEqual([]);
    const second = await talk(sessions, 1);
    const child = await sessions.fork(who, second);
    await sessions.change(who, second, { ended: true });
    await sessions.change(who, await talk(sessions, 1), { ended: true });
    clock.pass(100 * DAY);
    expect(await sessions.prune(who, { dryRun: false })).toHaveLength(2);
    expect(texts(await sessions.history(who, child.id))).toEqual(["q1", "a1"]);
  });
});

describe("tokens and cost", () => {
  it("add up request by request", async () => {
    const { sessions } = await openHome();
    const { id, usage } = await sessions.create(who);
    expect(usage).toMatchObject({
      inputTokens: 0,
      totalTokens: 0,
      lastPromptTokens: 0,
      costStatus: "unknown",
    });
    await sessions.recordUsage(who, id, { inputTokens: 200, outputTokens: 100, costUsd: 0.5 });
    const after = await sessions.recordUsage(who, id, {
      inputTokens: 100,
      outputTokens: 50,
      cacheReadTokens: 7,
      cacheWriteTokens: 3,
      reasoningTokens: 9,
      costUsd: 0.25,
      costStatus: "estimated",
      costSource: "list",
    });
    expect(after.usage).toMatchObject({
      inputTokens: 300,
      outputTokens: 150,
      totalTokens: 460,
      reasoningTokens: 9,
      costUsd: 0.75,
      costStatus: "estimated",
      costSource: "list",
    });
    expect((await sessions.get(who, id))?.usage).toEqual(after.usage);
  });

  it("count each turn once, for any number of turns", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    for (let turn = 1; turn <= 5; turn++) await sessions.recordUsage(who, id, { inputTokens: 100 });
    expect((await sessions.get(who, id))?.usage.inputTokens).toBe(500);
  });

  it("keep the size of the last prompt: set, unchanged, and set to zero", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    const last = async (lastPromptTokens?: number): Promise<number | undefined> => {
      await sessions.recordUsage(who, id, lastPromptTokens === undefined ? {} : { lastPromptTokens });
      return (await sessions.get(who, id))?.usage.lastPromptTokens;
    };
    expect(await last()).toBe(0);
    expect(await last(42_000)).toBe(42_000);
    expect(await last(85_000)).toBe(85_000);
    expect(await last(50_000)).toBe(50_000);
    expect(await last()).toBe(50_000);
    expect(await last(0)).toBe(0);
  });

  it("set an absent model, and keep an existing one", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    expect((await sessions.recordUsage(who, id, { model: "first" })).usage.model).toBe("first");
    expect((await sessions.recordUsage(who, id, { model: "second" })).usage.model).toBe("first");
    expect((await sessions.change(who, id, { model: "third" })).usage.model).toBe("third");
  });

  it("refuse an invalid count, and a missing session", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await expect(sessions.recordUsage(who, id, { inputTokens: -1 })).rejects.toMatchObject(
      code("invalid_input"),
    );
    await expect(sessions.recordUsage(who, id, { costUsd: Number.NaN })).rejects.toMatchObject(
      code("invalid_input"),
    );
    await expect(sessions.recordUsage(who, unknown, {})).rejects.toMatchObject(code("not_found"));
    expect((await sessions.get(who, id))?.usage.inputTokens).toBe(0);
  });
});

describe("titles", () => {
  it("are cleaned, stored, and cleared with an empty text", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    expect((await sessions.title(who, id, "  My\u0000 \n  project\u200b ")).title).toBe("My project");
    expect((await sessions.title(who, id, "")).title).toBeUndefined();
    expect((await sessions.title(who, id, "\u0007\u001b")).title).toBeUndefined();
    await expect(sessions.title(who, unknown, "x")).rejects.toMatchObject(code("not_found"));
  });

  it("have up to a hundred characters", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    expect((await sessions.title(who, id, "😀".repeat(100))).title).toBe("😀".repeat(100));
    await expect(sessions.title(who, id, "a".repeat(101))).rejects.toMatchObject(
      code("invalid_input", { details: { field: "title", length: 101, limit: 100 } }),
    );
    expect((await sessions.get(who, id))?.title).toBe("😀".repeat(100));
  });

  it("are unique for each person; a session can set its own title again, and several can have none", async () => {
    const { sessions } = await openHome();
    const one = await sessions.create(who, { title: "plan" });
    const two = await sessions.create(who);
    await sessions.create(who);
    await expect(sessions.title(who, two.id, "plan")).rejects.toMatchObject(code("title_taken"));
    await expect(sessions.create(who, { title: "plan" })).rejects.toMatchObject(code("title_taken"));
    expect((await sessions.title(who, one.id, "plan")).title).toBe("plan");
  });

  it("are separate for each person, who finds only their own", async () => {
    const { sessions } = await openHome();
    const mine = await sessions.create(who, { title: "secret plan" });
    const theirs = await sessions.create(bob, { title: "secret plan" });
    expect((await sessions.findByTitle(who, "secret plan"))?.id).toBe(mine.id);
    expect((await sessions.findByTitle(bob, "secret plan"))?.id).toBe(theirs.id);
    expect(await sessions.findByTitle({ person: "p_eve" }, "secret plan")).toBeUndefined();
    const other = await sessions.create(who);
    const error = await sessions.title(who, other.id, "secret plan").catch((caught: Error) => caught);
    expect(`${error}${JSON.stringify(error)}`).not.toContain(mine.id);
  });

  it("match the highest number of a lineage, not the newest session", async () => {
    const { sessions } = await openHome();
    const three = await sessions.create(who, { title: "my project #3" });
    const two = await sessions.create(who, { title: "my project #2" });
    const one = await sessions.create(who, { title: "my project" });
    expect((await sessions.findByTitle(who, "my project"))?.id).toBe(three.id);
    expect((await sessions.findByTitle(who, "my project #2"))?.id).toBe(two.id);
    await sessions.remove(who, three.id);
    await sessions.remove(who, two.id);
    expect((await sessions.findByTitle(who, "my project"))?.id).toBe(one.id);
    expect(await sessions.findByTitle(who, "my project #2")).toBeUndefined();
    expect(await sessions.findByTitle(who, " ")).toBeUndefined();
  });

  it("match completely or not at all", async () => {
    const { sessions } = await openHome();
    const titled = async (title: string) => (await sessions.create(who, { title })).id;
    await titled("PR #438 fix auth");
    expect(await sessions.findByTitle(who, "PR")).toBeUndefined();
    const underscore = await titled("test_project");
    await titled("testXproject");
    expect((await sessions.findByTitle(who, "test_project"))?.id).toBe(underscore);
    const percent = await titled("100% done");
    await titled("100 things done");
    expect((await sessions.findByTitle(who, "100% done"))?.id).toBe(percent);
    expect(await sessions.findByTitle(who, "100%")).toBeUndefined();
  });

  it("that are set automatically get the next number instead of failing", async () => {
    const { sessions } = await openHome();
    const auto = async (title: string) => {
      const { id } = await sessions.create(who);
      return (await sessions.autoTitle(who, id, title)).title;
    };
    expect(await auto("my project")).toBe("my project");
    expect(await auto("my project")).toBe("my project #2");
    expect(await auto("my project")).toBe("my project #3");
    expect(await auto("my project #2")).toBe("my project #4");
  });

  it("that a model proposes are cleaned and cut; an empty proposal changes nothing", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    expect((await sessions.autoTitle(who, id, 'Title: "Fix the build"')).title).toBe("Fix the build");
    expect((await sessions.autoTitle(who, id, " \n")).title).toBe("Fix the build");
    expect((await sessions.autoTitle(who, id, "Fix the build")).title).toBe("Fix the build");
    expect((await sessions.autoTitle(who, id, "x".repeat(150))).title).toHaveLength(80);
    const mine = await sessions.title(who, id, "My own");
    expect(await sessions.autoTitle(who, id, "A model's", { ifUntitled: true })).toEqual(mine);
    await expect(sessions.autoTitle(who, unknown, "x")).rejects.toMatchObject(code("not_found"));
    await expect(sessions.autoTitle(who, unknown, "")).rejects.toMatchObject(code("not_found"));
  });
});

describe("finding a session", () => {
  it("accepts an id, a handle, or the unambiguous start of an id", async () => {
    const { sessions } = await openHome();
    const one = await sessions.create(who, { id: "20260315_092437_c9a6f01b" });
    const two = await sessions.create(who, { id: "20260315_092437_d0000000" });
    expect((await sessions.find(who, one.id))?.id).toBe(one.id);
    expect((await sessions.find(who, two.handle))?.id).toBe(two.id);
    expect((await sessions.find(who, "20260315_092437_c9a6"))?.id).toBe(one.id);
    await expect(sessions.find(who, "20260315_09")).rejects.toMatchObject(
      code("ambiguous", {
        details: {
          candidates: [expect.objectContaining({ id: one.id }), expect.objectContaining({ id: two.id })],
        },
      }),
    );
    for (const text of ["", "2026031_", "20260315%", "nothing"])
      expect(await sessions.find(who, text)).toBeUndefined();
  });

  it("by its exact id returns that one or none", async () => {
    const { sessions } = await openHome();
    const { id, handle } = await sessions.create(who);
    expect((await sessions.get(who, id))?.id).toBe(id);
    for (const text of [handle, id.slice(0, -1), "", unknown])
      expect(await sessions.get(who, text)).toBeUndefined();
  });
});

describe("the list", () => {
  it("is ordered by last message, newest first, with a preview of each", async () => {
    const { sessions, clock } = await openHome();
    const silent = await sessions.create(who);
    clock.pass(MINUTE);
    const first = await sessions.create(who);
    const second = await sessions.create(who);
    await sessions.append(who, second.id, [assistant("Welcome"), user("line one\nline two")]);
    clock.pass(MINUTE);
    await sessions.append(who, first.id, [user("A".repeat(100)), assistant("ok")]);
    const { items, cursor } = await sessions.list(who);
    expect(items.map(({ id, preview, lastAt }) => [id, preview, lastAt])).toEqual([
      [first.id, `${"A".repeat(60)}...`, clock.time],
      [second.id, "line one line two", clock.time - MINUTE],
      [silent.id, "", silent.createdAt],
    ]);
    expect(items[0]?.preview).toHaveLength(63);
    expect(cursor).toBeUndefined();
  });

  it("filters before it applies the limit", async () => {
    const { sessions, clock } = await openHome();
    for (let i = 0; i < 3; i++) await sessions.create(who, { title: `t${i}` });
    clock.pass(HOUR);
    for (let i = 0; i < 12; i++) await sessions.create(who, { kind: "job", cwd: "/x" });
    expect((await sessions.list(who, { titled: true, limit: 10 })).items).toHaveLength(3);
    expect((await sessions.list(who, { kinds: ["job"], limit: 5 })).items).toHaveLength(5);
    expect((await sessions.list(who, { cwd: "/x", limit: 50 })).items).toHaveLength(12);
    expect((await sessions.list(who, { kinds: [] })).items).toEqual([]);
    expect((await sessions.list(who, { activeSince: clock.time })).items).toHaveLength(12);
    expect((await sessions.list(who, { activeSince: clock.time + 1 })).items).toEqual([]);
  });

  it("contains the platform of a conversation, and omits archived sessions", async () => {
    const { sessions } = await openHome();
    const telegram = await sessions.open({ platform: "telegram", chatId: "1", userId: "1" });
    const discord = await sessions.open({ platform: "discord", chatId: "1", userId: "1" });
    const ids = async (query: object) => (await sessions.list(everyone, query)).items.map(({ id }) => id);
    expect(await ids({ platform: "telegram" })).toEqual([telegram.session.id]);
    expect((await sessions.archive(everyone, discord.session.id)).archivedAt).toBe(START);
    expect(await ids({})).toEqual([telegram.session.id]);
    expect(await ids({ archived: true })).toEqual([discord.session.id]);
    expect(await ids({ archived: "both" })).toHaveLength(2);
    expect((await sessions.archive(everyone, discord.session.id, false)).archivedAt).toBeUndefined();
    await expect(sessions.archive(who, unknown)).rejects.toMatchObject(code("not_found"));
  });

  it("has pages that neither repeat nor skip while sessions are added", async () => {
    const { sessions, clock } = await openHome();
    const made: string[] = [];
    for (let i = 0; i < 7; i++) {
      if (i % 2 === 0) clock.pass(1);
      made.unshift((await sessions.create(who)).id);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await sessions.list(who, { limit: 3, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
      clock.pass(1);
      await sessions.create(who);
    } while (cursor !== undefined);
    expect(seen).toEqual(made);
    await expect(sessions.list(who, { cursor: "x" })).rejects.toMatchObject(code("invalid_input"));
  });

  it("and its totals contain only the asker's sessions", async () => {
    const { sessions } = await openHome();
    await talk(sessions, 2);
    await sessions.create(bob, { kind: "job" });
    expect((await sessions.list(bob)).items).toHaveLength(1);
    expect(await sessions.stats(who)).toMatchObject({ sessions: 1, messages: 4, byKind: { chat: 1 } });
    expect(await sessions.stats(everyone)).toMatchObject({ sessions: 2, byKind: { chat: 1, job: 1 } });
    expect((await sessions.stats(who)).bytes).toBeGreaterThan(0);
  });
});

describe("hasOther", () => {
  it("is false for a person with one session, and true with another of their own", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.create(bob);
    expect(await sessions.hasOther(who, id)).toBe(false);
    const second = await sessions.create(who);
    expect(await sessions.hasOther(who, id)).toBe(true);
    await sessions.create(who);
    expect(await sessions.hasOther(who, id)).toBe(true);
    expect(await sessions.hasOther(who, second.id)).toBe(true);
  });
});

describe("search", () => {
  it("finds a message at once, with its neighbours in that session", async () => {
    const { sessions } = await openHome();
    const left = await sessions.create(who, { title: "left" });
    const right = await sessions.create(who);
    for (const [l, r] of [
      ["before", "other one"],
      ["the needle in the hay", "other two"],
      ["after", "other three"],
    ] as const) {
      await sessions.append(who, left.id, user(l));
      await sessions.append(who, right.id, user(r));
    }
    expect(await sessions.search(who, "needle")).toEqual([
      {
        session: left.id,
        handle: left.handle,
        title: "left",
        seq: 2,
        at: START,
        role: "user",
        snippet: "the >>>needle<<< in the hay",
        before: { role: "user", text: "before" },
        after: { role: "user", text: "after" },
      },
    ]);
  });

  it("never fails for any input", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, user("hello world, C++ problem test a b deploying chat-send"));
    const found = async (text: string) => (await sessions.search(who, text)).length;
    for (const text of [
      "C++",
      '"unterminated',
      "(problem",
      "hello AND",
      "***",
      "{test}",
      "OR hello",
      "a AND OR b",
      "NEAR(",
      "^x",
      "col:x",
      "'; drop table messages; --",
      "\u0000",
      "",
    ])
      expect(await found(text), text).toBeGreaterThanOrEqual(0);
    for (const text of [
      "C++",
      "(problem",
      "hello AND",
      "{test}",
      "OR hello",
      "a AND OR b",
      "deploy*",
      "chat-send",
    ])
      expect(await found(text), text).toBe(1);
    for (const text of ["***", "", "deploy", '"world hello"', "hello -world"])
      expect(await found(text), text).toBe(0);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
        expect(await found(text)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it("finds words of every script, inside a sentence without spaces too", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, [
      user("明日は東京で会議があります"),
      user("我们在北京开会"),
      user("ประชุมพรุ่งนี้ที่กรุงเทพ"),
      user("Grüße aus München"),
    ]);
    for (const [text, seq] of [
      ["東京", 1],
      ["会議", 1],
      ["北京", 2],
      ["กรุงเทพ", 3],
      ["munchen", 4],
    ] as const)
      expect(
        (await sessions.search(who, text)).map((hit) => hit.seq),
        text,
      ).toEqual([seq]);
  });

  it("filters by session, platform, kind, role and page", async () => {
    const { sessions } = await openHome();
    const chat = await sessions.open({ platform: "telegram", chatId: "1", userId: "1" });
    const editor = await sessions.create(who, { kind: "editor" });
    await sessions.append(everyone, chat.session.id, [user("apple one"), assistant("apple two")]);
    await sessions.append(everyone, editor.id, user("apple three"));
    const found = async (query: object): Promise<number> =>
      (await sessions.search(everyone, "apple", query)).length;
    expect(await found({})).toBe(3);
    expect(await found({ session: editor.id })).toBe(1);
    expect(await found({ platforms: ["telegram"] })).toBe(2);
    expect(await found({ platforms: [] })).toBe(0);
    expect(await found({ kinds: ["editor"] })).toBe(1);
    expect(await found({ roles: ["assistant"] })).toBe(1);
    expect(await found({ limit: 2 })).toBe(2);
    expect(await found({ limit: 2, offset: 2 })).toBe(1);
  });

  it("finds undone messages only on request, and no removed ones", async () => {
    const { sessions, file } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, user("a wrong xylophone"));
    await sessions.undo(who, id);
    expect(await sessions.search(who, "xylophone")).toEqual([]);
    expect(await sessions.search(who, "xylophone", { undone: true })).toHaveLength(1);
    await sessions.remove(who, id);
    expect(await sessions.search(who, "xylophone", { undone: true })).toEqual([]);
    expect(readFileSync(file).includes("xylophone")).toBe(false);
  });

  it("finds in a fork the messages that it shows from its origin", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, [user("shared kiwi"), user("later mango")]);
    const fork = await sessions.fork(who, id, { keep: 1 });
    expect(await sessions.search(who, "kiwi", { session: fork.id })).toHaveLength(1);
    expect(await sessions.search(who, "mango", { session: fork.id })).toEqual([]);
  });

  it("finds only visible messages", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await sessions.append(who, id, user("my diary"));
    expect(await sessions.search(bob, "diary")).toEqual([]);
    expect(await sessions.search(bob, "diary", { session: id })).toEqual([]);
  });
});

describe("changing, removing and pruning", () => {
  it("changes given fields, keeps absent ones, and clears with null", async () => {
    const { sessions, clock } = await openHome();
    const { id } = await sessions.create(who, { cwd: "/a", model: "m", config: { a: 1 } });
    expect(await sessions.change(who, id, { cwd: "/b" })).toMatchObject({ cwd: "/b", config: { a: 1 } });
    const cleared = await sessions.change(who, id, { cwd: null, model: null, config: null });
    expect([cleared.cwd, cleared.usage.model, cleared.config]).toEqual([undefined, undefined, undefined]);
    expect(await sessions.change(who, id, { ended: true })).toMatchObject({
      endedAt: clock.time,
      endReason: "closed",
    });
    expect((await sessions.change(who, id, { ended: false })).endedAt).toBeUndefined();
    expect(await sessions.change(who, id, { ended: " the job is\ndone " })).toMatchObject({
      endedAt: clock.time,
      endReason: "the job is done",
    });
    expect((await sessions.change(who, id, { ended: "later" })).endReason).toBe("the job is done");
    for (const ended of ["", " ", "x".repeat(101)])
      await expect(sessions.change(who, id, { ended })).rejects.toMatchObject(code("invalid_input"));
    const copy = (await openHome()).sessions;
    expect((await copy.import(await sessions.export(who, id))).endReason).toBe("the job is done");
    await expect(sessions.change(who, unknown, {})).rejects.toMatchObject(code("not_found"));
  });

  it("lists conversations with their current session", async () => {
    const { sessions } = await openHome();
    const { session, conversation } = await sessions.open({ platform: "telegram", chatId: "1", userId: "1" });
    const { session: next } = await sessions.reset(everyone, conversation.number);
    const { items } = await sessions.listConversations(everyone);
    expect(items).toMatchObject([
      { conversation: { number: conversation.number }, session: { id: next.id } },
    ]);
    expect(next.id).not.toBe(session.id);
    await expect(sessions.listConversations(everyone, { limit: -1 })).rejects.toMatchObject(
      code("invalid_input"),
    );
  });

  it("removes a session with all its messages, once", async () => {
    const { sessions } = await openHome();
    const { session, conversation } = await sessions.open({ platform: "telegram", chatId: "1", userId: "1" });
    await sessions.append(everyone, session.id, user("gone"));
    expect(await sessions.remove(everyone, session.id)).toBe(true);
    expect(await sessions.remove(everyone, session.id)).toBe(false);
    expect(await sessions.history(everyone, session.id)).toBeUndefined();
    expect(await sessions.conversations(everyone, session.id)).toEqual([]);
    const again = await sessions.open({ platform: "telegram", chatId: "1", userId: "1" });
    expect(again).toMatchObject({ created: true });
    expect(again.conversation.number).not.toBe(conversation.number);
  });

  it("prunes only ended sessions that were unused for long, after a dry run", async () => {
    const { sessions, clock } = await openHome();
    const old = await talk(sessions, 1);
    await sessions.change(who, old, { ended: true });
    const open = await talk(sessions, 1);
    clock.pass(100 * DAY);
    const recent = await talk(sessions, 1);
    await sessions.change(who, recent, { ended: true });
    expect((await sessions.prune(who)).map(({ id }) => id)).toEqual([old]);
    expect(await sessions.prune(who, { olderThanDays: 101 })).toEqual([]);
    expect(await sessions.get(who, old)).toBeDefined();
    expect((await sessions.prune(who, { dryRun: false })).map(({ id }) => id)).toEqual([old]);
    expect((await sessions.list(who)).items.map(({ id }) => id)).toEqual([recent, open]);
    for (const olderThanDays of [-1, Number.NaN])
      await expect(sessions.prune(who, { olderThanDays })).rejects.toMatchObject(code("invalid_input"));
  });

  it("prunes by platform, kind and person, and never a session that was resumed", async () => {
    const { sessions, clock } = await openHome();
    const ended: Record<string, string> = {};
    for (const platform of ["telegram", "discord", "slack"]) {
      const { session, conversation } = await sessions.open(
        { platform, chatId: "1", userId: "1" },
        { person: "p_bob", policy: NO_RESET },
      );
      await sessions.reset(bob, conversation.number);
      if (platform === "slack") await sessions.switchTo(bob, conversation.number, session.id);
      ended[platform] = session.id;
    }
    clock.pass(100 * DAY);
    const pruned = async (asker: typeof who, options: object) =>
      (await sessions.prune(asker, options)).map(({ id }) => id);
    expect(await pruned(bob, { platform: "telegram" })).toEqual([ended.telegram]);
    expect(await pruned(bob, { kinds: ["job"] })).toEqual([]);
    expect(await pruned(who, {})).toEqual([]);
    expect(await pruned(bob, { limit: 1 })).toHaveLength(1);
    expect(await pruned(bob, { dryRun: false })).toContain(ended.discord);
    expect(await sessions.get(bob, ended.slack ?? "")).toBeDefined();
  });

  it("refuses a hold with an invalid duration, or on a missing session", async () => {
    const { sessions } = await openHome();
    const { id } = await sessions.create(who);
    await expect(sessions.hold(who, id, "x", Number.NaN)).rejects.toMatchObject(code("invalid_input"));
    await expect(sessions.hold(who, unknown, "x", 1)).rejects.toMatchObject(code("not_found"));
    expect(await sessions.release(who, unknown, "x")).toBe(false);
  });
});

describe("visibility", () => {
  it("is limited to the owner: for others a session does not exist", async () => {
    const { sessions } = await openHome();
    const id = await talk(sessions, 1);
    const absent = await Promise.all([
      sessions.get(bob, id),
      sessions.find(bob, id),
      sessions.history(bob, id),
      sessions.messages(bob, id),
      sessions.ranges(bob, id),
      sessions.shownLength(bob, id),
      sessions.export(bob, id),
    ]);
    expect(absent.every((value) => value === undefined)).toBe(true);
    for (const attempt of [
      sessions.append(bob, id, user("intruder")),
      sessions.rewrite(bob, id, []),
      sessions.undo(bob, id),
      sessions.compress(bob, id, "x"),
      sessions.fork(bob, id),
      sessions.title(bob, id, "x"),
      sessions.autoTitle(bob, id, "x"),
      sessions.recordUsage(bob, id, {}),
      sessions.change(bob, id, { cwd: "/" }),
      sessions.archive(bob, id),
      sessions.hold(bob, id, "x", 1),
    ])
      await expect(attempt).rejects.toMatchObject(code("not_found"));
    expect(await sessions.remove(bob, id)).toBe(false);
    expect(await sessions.shownLength(who, id)).toBe(2);
  });

  it("is limited to messages of the chat, in a chat with other readers", async () => {
    const { sessions } = await openHome();
    const from: SourceInput = { platform: "discord", chatId: "guild", chatType: "group", userId: "b" };
    const there = await sessions.open(from, bob);
    const alone = await sessions.open({ platform: "discord", chatId: "b", userId: "b" }, bob);
    const chat = getChatAudience(source(from)) ?? "";
    const inChat = { ...bob, chat };
    expect((await sessions.list(inChat)).items.map(({ id }) => id)).toEqual([there.session.id]);
    expect(await sessions.get(inChat, alone.session.id)).toBeUndefined();
    expect((await sessions.list(bob)).items).toHaveLength(2);
    expect((await sessions.list({ person: "p_eve", chat })).items).toEqual([]);
  });
});

describe("a store in separate threads", () => {
  it("behaves the same", async () => {
    const home = await openHome({ mode: "workers" });
    const { sessions } = home;
    const from = { platform: "telegram", chatId: "1", userId: "1" };
    const opened = await Promise.all(Array.from({ length: 8 }, () => sessions.open(from, who)));
    expect(new Set(opened.map(({ session }) => session.id)).size).toBe(1);
    const id = await talk(sessions, 2, opened[0]?.session.id);
    await expect(sessions.append(who, unknown, user("x"))).rejects.toMatchObject(code("not_found"));
    await expect(sessions.recordUsage(who, id, { inputTokens: -1 })).rejects.toMatchObject(
      code("invalid_input", { details: { field: "input_tokens" } }),
    );
    await sessions.undo(who, id);
    const fork = await sessions.fork(who, id);
    expect(texts(await sessions.history(who, fork.id))).toEqual(["q1", "a1"]);
    expect(await sessions.search(who, "a1")).toHaveLength(1);
    expect((await sessions.list(who)).items).toHaveLength(2);
    home.clock.pass(2 * DAY);
    expect((await sessions.open(from)).fresh?.reason).toBe("idle");
    const later = await home.restart();
    expect(texts(await later.sessions.messages(who, id))).toEqual(["q1", "a1", "q2", "a2"]);
  });
});
