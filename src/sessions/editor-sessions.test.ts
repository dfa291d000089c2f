import { dirname } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Home, MINUTE, openHome, START } from "../../test/support/test-home.ts";
import { getText, type Message } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import { type EditorOptions, type EditorSessions, editorSessions } from "./editor-sessions.ts";
import type { MessageInput } from "./message-input.ts";
import type { Sessions } from "./sessions.ts";

const who = { person: OWNER };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const unknown = "00000000-0000-4000-8000-999999999999";

/** The agent of these tests: it keeps the values that it was made from. */
interface Agent {
  readonly model: string;
  readonly provider: string;
  readonly temperature: unknown;
}

const DEFAULTS = { model: "default-model", provider: "default-provider" };

function buildAgent({ usage, config }: Session, defaults = DEFAULTS): Agent {
  return {
    model: usage.model ?? defaults.model,
    provider: usage.provider ?? defaults.provider,
    temperature: config?.temperature,
  };
}

function editor(
  { sessions, clock }: Home,
  options: Partial<EditorOptions<Agent>> = {},
): EditorSessions<Agent> {
  return editorSessions({ sessions, clock, makeAgent: buildAgent, ...options });
}

const user = (text: string): MessageInput => ({ role: "user", text });
const assistant = (text: string): MessageInput => ({ role: "assistant", text });
const texts = (messages: readonly Message[] | undefined): string[] => (messages ?? []).map(getText);

describe("an editor session", () => {
  it("has its own UUID, a folder and an agent", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const one = await sessions.create({ cwd: "/a" });
    const two = await sessions.create({ cwd: "/b", model: "m", provider: "p", config: { temperature: 0 } });
    expect(one.id).toMatch(UUID);
    expect(two.id).toMatch(UUID);
    expect(one.id).not.toBe(two.id);
    expect(one).toMatchObject({ cwd: "/a", agent: DEFAULTS });
    expect(two).toMatchObject({
      cwd: "/b",
      model: "m",
      agent: { model: "m", provider: "p", temperature: 0 },
    });
    expect(await home.sessions.get(who, one.id)).toMatchObject({ kind: "editor", cwd: "/a", owner: OWNER });
  });

  it("is stored in the sessions of the options, not in the home of the environment", async () => {
    const [home, other] = [await openHome(), await openHome()];
    vi.stubEnv("POSTRIDER_HOME", dirname(other.file));
    onTestFinished(() => void vi.unstubAllEnvs());
    const { id } = await editor(home).create({ cwd: "/a" });
    expect(await home.sessions.get(who, id)).toMatchObject({ id });
    expect((await other.sessions.list(who)).items).toEqual([]);
  });

  it("is the same object while the process runs", async () => {
    const sessions = editor(await openHome());
    const made = await sessions.create({ cwd: "/a" });
    expect(await sessions.get(made.id)).toBe(made);
    expect(await sessions.get(made.id)).toBe(made);
  });

  it("is not found by an unknown id, a prefix, or the id of a chat session", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const one = await sessions.create({ cwd: "/a" });
    await sessions.create({ cwd: "/a" });
    const chat = await home.sessions.create(who);
    for (const id of [unknown, "", one.id.slice(0, 8), chat.id]) {
      expect(await sessions.get(id)).toBeUndefined();
      expect(await sessions.history(id)).toBeUndefined();
      expect(await sessions.fork(id)).toBeUndefined();
      expect(await sessions.updateCwd(id, "/x")).toBeUndefined();
      expect(await sessions.updateModel(id, "m")).toBeUndefined();
      expect(await sessions.remove(id)).toBe(false);
      await expect(sessions.save(id, [user("x")])).rejects.toMatchObject({ code: "not_found" });
    }
    expect(await home.sessions.history(who, chat.id)).toEqual([]);
  });

  it("is restored after a restart: agent, folder, and every message", async () => {
    const home = await openHome();
    const before = editor(home);
    const { id } = await before.create({ cwd: "/a", model: "m", config: { temperature: 1 } });
    const conversation: MessageInput[] = [
      user("list the files"),
      {
        role: "assistant",
        text: "",
        reasoning: "I should look.",
        finishReason: "tool_calls",
        toolCalls: [{ id: "c1", name: "ls", arguments: { path: "/" } }],
        extra: { reasoning_details: [{ type: "text" }] },
      },
      { role: "tool", text: "a b", toolCallId: "c1", toolName: "ls" },
      assistant("a and b"),
    ];
    await before.save(id, conversation);
    const later = await home.restart();
    const after = editor(later);
    expect(await after.get(id)).toEqual({
      id,
      cwd: "/a",
      model: "m",
      agent: { model: "m", provider: "default-provider", temperature: 1 },
    });
    const history = await after.history(id);
    expect(texts(history)).toEqual(["list the files", "", "a b", "a and b"]);
    const { text: _text, ...calling } = conversation[1] ?? user("");
    expect(history?.[1]).toMatchObject(calling);
    expect(history?.[2]).toMatchObject({ toolCallId: "c1", toolName: "ls" });
  });

  it("keeps its model and provider when the defaults change", async () => {
    const home = await openHome();
    const { id } = await editor(home).create({ cwd: "/a", model: "old", provider: "old-provider" });
    const later = await home.restart();
    const changed = { model: "new", provider: "new-provider" };
    const sessions = editor(later, { makeAgent: (session) => buildAgent(session, changed) });
    expect((await sessions.get(id))?.agent).toMatchObject({ model: "old", provider: "old-provider" });
    expect((await sessions.create({ cwd: "/a" })).agent).toMatchObject(changed);
  });

  it("is found by a search for its text", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    await sessions.save(id, [user("how do I configure nginx as a proxy?")]);
    expect((await home.sessions.search(who, "nginx")).map(({ session }) => session)).toEqual([id]);
  });

  it("has an owner: another person's editor does not see it", async () => {
    const home = await openHome();
    const { id } = await editor(home).create({ cwd: "/a" });
    const theirs = editor(home, { person: "p_bob" });
    expect(await theirs.get(id)).toBeUndefined();
    expect((await theirs.list()).items).toEqual([]);
  });
});

describe("the agent of an editor session", () => {
  it("is made once for concurrent requests", async () => {
    const home = await openHome();
    const { id } = await editor(home).create({ cwd: "/a" });
    let made = 0;
    const sessions = editor(home, {
      makeAgent: async (session) => {
        made += 1;
        return buildAgent(session);
      },
    });
    const got = await Promise.all(Array.from({ length: 5 }, () => sessions.get(id)));
    expect(made).toBe(1);
    expect(new Set(got).size).toBe(1);
    expect(await sessions.get(id)).toBe(got[0]);
  });

  it("may fail to start: the session is kept, and the next get tries again", async () => {
    const home = await openHome();
    let broken = true;
    const sessions = editor(home, {
      makeAgent: (session) => {
        if (broken) throw new Error("no credentials");
        return buildAgent(session);
      },
    });
    const made = await sessions.create({ cwd: "/a" });
    expect(made.agent).toBeUndefined();
    expect(made.agentError).toMatchObject({
      code: "agent_failed",
      cause: expect.objectContaining({ message: "no credentials" }),
    });
    await sessions.save(made.id, [user("still stored")]);
    expect(texts(await sessions.history(made.id))).toEqual(["still stored"]);
    expect((await sessions.get(made.id))?.agentError).toBeDefined();
    broken = false;
    const mended = await sessions.get(made.id);
    expect(mended).toMatchObject({ agent: DEFAULTS });
    expect(mended?.agentError).toBeUndefined();
    expect(await sessions.get(made.id)).toBe(mended);
  });

  it("is the last one requested when the model changes while another is being made", async () => {
    const home = await openHome();
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ready = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    const slow = editor(home, {
      makeAgent: async (session) => {
        const n = count++;
        begun[n]?.resolve();
        await ready[n]?.promise;
        return buildAgent(session);
      },
    });
    const creating = slow.create({ cwd: "/a", model: "one" });
    await begun[0]?.promise;
    const [{ id } = { id: "" }] = (await slow.list()).items;
    const changing = slow.updateModel(id, "two");
    await begun[1]?.promise;
    for (const { resolve } of ready.toReversed()) resolve();
    expect((await creating).model).toBe("one");
    const changed = await changing;
    expect(changed?.model).toBe("two");
    expect(await slow.get(id)).toBe(changed);
  });
});

describe("a fork of an editor session", () => {
  it("is an independent copy with its parent", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a", model: "m", config: { temperature: 1 } });
    const conversation = [user("one"), assistant("two")];
    await sessions.save(id, conversation);
    const fork = await sessions.fork(id, { cwd: "/b" });
    expect(fork).toMatchObject({ cwd: "/b", model: "m", agent: { temperature: 1 } });
    expect(fork?.id).toMatch(UUID);
    const forkId = fork?.id ?? "";
    await sessions.save(forkId, [...conversation, user("three")]);
    expect(texts(await sessions.history(forkId))).toEqual(["one", "two", "three"]);
    expect(texts(await sessions.history(id))).toEqual(["one", "two"]);
    expect(await home.sessions.get(who, forkId)).toMatchObject({
      kind: "editor",
      parent: id,
      messageCount: 1,
    });
    await sessions.remove(id);
    expect(texts(await sessions.history(forkId))).toEqual(["one", "two", "three"]);
  });

  it("of an unknown session is undefined", async () => {
    expect(await editor(await openHome()).fork(unknown)).toBeUndefined();
  });

  it("stays in the same folder unless another is named", async () => {
    const sessions = editor(await openHome());
    const { id } = await sessions.create({ cwd: "/a" });
    expect((await sessions.fork(id))?.cwd).toBe("/a");
  });
});

/** The library, with the number of calls by name. */
function countCalls(sessions: Sessions): { sessions: Sessions; calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const wrapped = new Proxy(sessions, {
    get: (target, name: keyof Sessions & string) => {
      calls.set(name, (calls.get(name) ?? 0) + 1);
      return target[name];
    },
  });
  return { sessions: wrapped, calls };
}

describe("a save point", () => {
  it("adds new messages and does not change stored ones", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation: MessageInput[] = [
      user("one"),
      { role: "assistant", text: "two", reasoning: "because" },
    ];
    await sessions.save(id, conversation);
    const before = await sessions.history(id);
    home.clock.pass(MINUTE);
    await sessions.save(id, [...conversation, user("three")]);
    await sessions.save(id, [...conversation, user("three")]);
    const after = await sessions.history(id);
    expect(after?.slice(0, 2)).toEqual(before);
    expect(after?.map(({ at }) => at)).toEqual([START, START, START + MINUTE]);
    expect(after?.[1]?.reasoning).toBe("because");
    expect(await home.sessions.get(who, id)).toMatchObject({ messageCount: 3 });
    expect(await home.sessions.versions(who, id)).toEqual([]);
  });

  it("reads no messages while nobody else writes, however long the conversation is", async () => {
    const home = await openHome();
    const { sessions: library, calls } = countCalls(home.sessions);
    const sessions = editor({ ...home, sessions: library });
    const same = (conversation: MessageInput[]) => conversation;
    // The same if the agent creates new message objects for each save.
    for (const given of [same, structuredClone<MessageInput[]>]) {
      calls.clear();
      const { id } = await sessions.create({ cwd: "/a" });
      const conversation: MessageInput[] = [];
      for (let turn = 0; turn < 10; turn++) {
        conversation.push(user(`q${turn}`), assistant(`a${turn}`));
        await sessions.save(id, given(conversation));
      }
      expect(calls.get("history")).toBe(1);
      expect(calls.get("append")).toBe(10);
      expect(calls.get("rewrite")).toBeUndefined();
      expect(await home.sessions.shownLength(who, id)).toBe(20);
    }
  });

  it("accepts messages made of parts", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation: MessageInput[] = [
      {
        role: "user",
        parts: [
          { type: "text", text: "look at" },
          { type: "resource", uri: "file:///a.ts", mimeType: "text/plain", text: "code" },
          { type: "image", mimeType: "image/png", data: new Uint8Array([1, 2]) },
        ],
      },
    ];
    await sessions.save(id, conversation);
    await sessions.save(id, [...conversation, assistant("nice")]);
    const later = await home.restart();
    const after = editor(later);
    await after.save(id, [...conversation, assistant("nice"), user("thanks")]);
    const history = await after.history(id);
    expect(history?.map(({ parts }) => parts.map(({ type }) => type))).toEqual([
      ["text", "resource", "image"],
      ["text"],
      ["text"],
    ]);
    expect(await later.sessions.get(who, id)).toMatchObject({ messageCount: 3 });
  });

  it("shows the new messages from the first difference on, and keeps the old rows", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    const start = [user("one"), assistant("two")];
    await sessions.save(id, [...start, user("three"), assistant("four")]);
    home.clock.pass(MINUTE);
    await sessions.save(id, [...start, user("another three")]);
    const history = await sessions.history(id);
    expect(texts(history)).toEqual(["one", "two", "another three"]);
    expect(history?.map(({ at }) => at)).toEqual([START, START, START + MINUTE]);
    const everything = texts(await home.sessions.messages(who, id));
    expect(everything.slice(0, 4)).toEqual(["one", "two", "three", "four"]);
    await sessions.save(id, [...start, user("another three"), assistant("more")]);
    expect(texts(await sessions.history(id))).toEqual(["one", "two", "another three", "more"]);
    await home.sessions.restore(who, id, 0);
    expect(texts(await sessions.history(id))).toEqual(["one", "two", "three", "four"]);
  });

  it("follows a conversation that became shorter, empty, or a summary", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation = [user("one"), assistant("two"), user("three")];
    for (const course of [
      conversation,
      conversation.slice(0, 2),
      [],
      conversation,
      [assistant("summary"), user("three"), assistant("four")],
    ]) {
      await sessions.save(id, course);
      expect(texts(await sessions.history(id))).toEqual(course.map(({ text }) => text));
      if (course.length === 2) expect(await home.sessions.get(who, id)).toMatchObject({ messageCount: 3 });
    }
    expect(texts(await home.sessions.messages(who, id)).slice(0, 3)).toEqual(["one", "two", "three"]);
  });

  it("detects that the newest message has grown since the last save", async () => {
    const sessions = editor(await openHome());
    const { id } = await sessions.create({ cwd: "/a" });
    const answer = { role: "assistant" as const, text: "to be" };
    const conversation: MessageInput[] = [user("say"), answer];
    await sessions.save(id, conversation);
    answer.text = "to be or not to be";
    await sessions.save(id, conversation);
    expect(texts(await sessions.history(id))).toEqual(["say", "to be or not to be"]);
  });

  it("detects changes of other processes since the last save", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation = [user("one"), assistant("two"), user("three"), assistant("four")];
    const more = user("five");
    for (const [meanwhile, expected] of [
      [() => home.sessions.append(who, id, user("from outside")), "the agent's course is shown"],
      [() => home.sessions.undo(who, id), "what was undone is shown again"],
      [() => home.sessions.compress(who, id, "sum", { keepLast: 3 }), "the whole is shown again"],
      [() => home.sessions.restore(who, id, 0), "an older shape is left again"],
      [() => home.sessions.rewrite(who, id, []), "an emptied session is full again"],
    ] as const) {
      await sessions.save(id, conversation);
      await meanwhile();
      await sessions.save(id, [...conversation, more]);
      expect(texts(await sessions.history(id)), expected).toEqual(["one", "two", "three", "four", "five"]);
    }
  });

  it("corrects a message that another process added during a save", async () => {
    const home = await openHome();
    let intrude = false;
    const raced = new Proxy(home.sessions, {
      get: (target, name: keyof Sessions) => {
        if (name !== "append" || !intrude) return target[name];
        intrude = false;
        return async (...input: Parameters<Sessions["append"]>) => {
          await home.sessions.append(who, input[1], user("from outside"));
          return target.append(...input);
        };
      },
    });
    const sessions = editor({ ...home, sessions: raced });
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation = [user("one"), assistant("two"), user("three")];
    await sessions.save(id, conversation.slice(0, 1));
    intrude = true;
    await sessions.save(id, conversation.slice(0, 2));
    expect(texts(await sessions.history(id))).toEqual(["one", "from outside", "two"]);
    await sessions.save(id, conversation);
    expect(texts(await sessions.history(id))).toEqual(["one", "two", "three"]);
  });

  it("keeps the order of concurrent saves", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation = Array.from({ length: 6 }, (_, i) => user(`${i}`));
    await Promise.all(conversation.map((_, i) => sessions.save(id, conversation.slice(0, i + 1))));
    expect(texts(await sessions.history(id))).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(await home.sessions.get(who, id)).toMatchObject({ messageCount: 6 });
  });

  it("loses nothing when it fails, and the next one succeeds", async () => {
    const home = await openHome();
    let broken = false;
    const failing = new Proxy(home.sessions, {
      get: (target, name: keyof Sessions) => {
        if (broken && (name === "append" || name === "rewrite"))
          return () => Promise.reject(new Error("the power went out"));
        return target[name];
      },
    });
    const sessions = editor({ ...home, sessions: failing });
    const { id } = await sessions.create({ cwd: "/a" });
    const conversation = [user("one"), assistant("two")];
    await sessions.save(id, conversation);
    broken = true;
    await expect(sessions.save(id, [...conversation, user("three")])).rejects.toThrow("power");
    await expect(sessions.save(id, [user("other")])).rejects.toThrow("power");
    await expect(sessions.save(id, [...conversation, { role: "robot" } as never])).rejects.toThrow();
    expect(texts(await sessions.history(id))).toEqual(["one", "two"]);
    broken = false;
    await sessions.save(id, [...conversation, user("three")]);
    expect(texts(await sessions.history(id))).toEqual(["one", "two", "three"]);
    const after = editor(await home.restart());
    expect(texts(await after.history(id))).toEqual(["one", "two", "three"]);
  });
});

describe("the folder and model of an editor session", () => {
  it("can be changed, also across a restart", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const made = await sessions.create({ cwd: "/a", model: "m", provider: "p" });
    const moved = await sessions.updateCwd(made.id, "/b");
    expect(moved).toMatchObject({ id: made.id, cwd: "/b" });
    expect(moved?.agent).toBe(made.agent);
    expect(await sessions.get(made.id)).toBe(moved);
    const other = await sessions.updateModel(made.id, "m2");
    expect(other).toMatchObject({ cwd: "/b", model: "m2", agent: { model: "m2", provider: "p" } });
    expect((await sessions.updateModel(made.id, "m3", "p3"))?.agent).toMatchObject({ provider: "p3" });
    const after = editor(await home.restart());
    expect(await after.get(made.id)).toMatchObject({ cwd: "/b", model: "m3", agent: { provider: "p3" } });
  });

  it("can be changed in a session that is not open in this process", async () => {
    const home = await openHome();
    const { id } = await editor(home).create({ cwd: "/a" });
    const after = editor(await home.restart());
    expect(await after.updateCwd(id, "/b")).toMatchObject({ cwd: "/b", agent: DEFAULTS });
  });
});

describe("the list of editor sessions", () => {
  it("has folder, model, title and length of each, newest first, and no chats", async () => {
    const home = await openHome();
    const sessions = editor(home);
    const one = await sessions.create({ cwd: "/a", model: "m" });
    await home.sessions.create(who);
    home.clock.pass(MINUTE);
    const two = await sessions.create({ cwd: "/b" });
    await home.sessions.title(who, two.id, "Second");
    home.clock.pass(MINUTE);
    await sessions.save(one.id, [user("1"), assistant("2"), user("3")]);
    await home.sessions.undo(who, one.id);
    const { items } = await sessions.list();
    expect(items.map(({ handle: _handle, ...rest }) => rest)).toEqual([
      { id: one.id, cwd: "/a", model: "m", historyLength: 2, updatedAt: START + 2 * MINUTE },
      { id: two.id, cwd: "/b", title: "Second", historyLength: 0, updatedAt: START + MINUTE },
    ]);
  });

  it("has pages, and a filter for one folder", async () => {
    const sessions = editor(await openHome());
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await sessions.create({ cwd: i % 2 === 0 ? "/a" : "/b" })).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await sessions.list({ limit: 2, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids);
    expect((await sessions.list({ cwd: "/a" })).items).toHaveLength(3);
    expect((await sessions.list({ cwd: "/c" })).items).toEqual([]);
  });
});

describe("removing an editor session", () => {
  it("returns true once", async () => {
    const sessions = editor(await openHome());
    const { id } = await sessions.create({ cwd: "/a" });
    expect(await sessions.remove(id)).toBe(true);
    expect(await sessions.remove(id)).toBe(false);
    expect(await sessions.get(id)).toBeUndefined();
    await expect(sessions.save(id, [user("x")])).rejects.toMatchObject({ code: "not_found" });
  });

  it("by cleanup keeps sessions of other editors and chats", async () => {
    const home = await openHome();
    const mine = editor(home);
    const theirs = editor(home);
    const other = await theirs.create({ cwd: "/b" });
    const chat = await home.sessions.create(who);
    const { id } = await mine.create({ cwd: "/a" });
    await mine.fork(id);
    await mine.get(other.id);
    expect(await mine.cleanup()).toBe(2);
    expect(await mine.cleanup()).toBe(0);
    expect((await theirs.list()).items.map((item) => item.id)).toEqual([other.id]);
    expect(await theirs.get(other.id)).toBe(other);
    expect(await home.sessions.get(who, chat.id)).toBeDefined();
  });
});

describe("an editor session without a folder", () => {
  it("is in the current folder", async () => {
    const home = await openHome();
    const { id } = await home.sessions.create(who, { kind: "editor" });
    expect(await editor(home).get(id)).toMatchObject({ cwd: "." });
  });
});
