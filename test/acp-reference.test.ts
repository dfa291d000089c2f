import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isSaid } from "./acp-kill/shown.ts";
import { startWire, type Update, type Wire, type WireOptions } from "./acp-kill/wire.ts";
import { look } from "./support/database.ts";
import { temporaryFolder } from "./support/folder.ts";
import { modelServer } from "./support/model-server.ts";
import { runProgram } from "./support/program.ts";

/** A home, a project, and editors that each start their own `postrider acp`. */
interface Room {
  readonly home: string;
  readonly cwd: string;
  readonly database: string;
  editor(options?: Partial<WireOptions>): Promise<TestEditor>;
  /** The output of a command with `--json`. */
  json<Output>(...args: readonly string[]): Promise<Output>;
}

interface TestEditor extends Wire {
  /** The result; throws the error of the answer. */
  ask<Result>(method: string, params: object): Promise<Result>;
  open(): Promise<string>;
  prompt(
    sessionId: string,
    ...blocks: readonly (string | object)[]
  ): Promise<{ readonly stopReason: string }>;
  /** The replayed updates. */
  load(sessionId: string): Promise<readonly Update[]>;
  shown(sessionId: string, ...kinds: readonly string[]): readonly Update[];
  /** Resolves when the function finds something. */
  until<Found>(look: () => Found | undefined): Promise<Found>;
  closed(): Promise<void>;
}

function room(answers: readonly unknown[] = [{ say: ["You said: ", { echo: true }] }]): Room {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const [home, cwd] = [join(temporary.path, "home"), join(temporary.path, "project")];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(cwd);
  const script = join(temporary.path, "script.json");
  writeFileSync(script, JSON.stringify({ answers, models: ["small", "large"] }));
  return {
    home,
    cwd,
    database: join(home, "postrider.db"),
    async editor(options = {}) {
      const wire = startWire({ home, agent: `script:${script}`, asked: async () => ({}), ...options });
      onTestFinished(() => wire.kill());
      const editor = editorOn(wire, cwd);
      await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
      return editor;
    },
    async json(...args) {
      const { code, out, err } = await runProgram(home, ...args, "--json");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      return JSON.parse(out);
    },
  };
}

function editorOn(wire: Wire, cwd: string): TestEditor {
  const shown = (sessionId: string, ...kinds: readonly string[]): readonly Update[] =>
    wire.updates
      .filter(({ session }) => session === sessionId)
      .map(({ update }) => update)
      .filter(({ sessionUpdate }) => kinds.length === 0 || kinds.includes(sessionUpdate));
  async function ask<Result>(method: string, params: object): Promise<Result> {
    const response = await wire.request(method, params);
    if (response?.error !== undefined) throw response.error;
    return response?.result as Result;
  }
  return {
    ...wire,
    ask,
    shown,
    async open() {
      return (await ask<{ sessionId: string }>("session/new", { cwd, mcpServers: [] })).sessionId;
    },
    prompt: (sessionId, ...blocks) =>
      ask("session/prompt", {
        sessionId,
        prompt: blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block)),
      }),
    async load(sessionId) {
      const before = wire.updates.length;
      await ask("session/load", { sessionId, cwd, mcpServers: [] });
      return wire.updates
        .slice(before)
        .map(({ update }) => update)
        .filter(isSaid);
    },
    until: (look) =>
      new Promise((resolve) => {
        const again = (): void => {
          const found = look();
          if (found !== undefined) resolve(found);
        };
        wire.onCome(again);
        again();
      }),
    async closed() {
      wire.hangUp();
      expect(await wire.ended).toEqual({ code: 0, signal: null, err: "", garbage: [] });
    },
  };
}

/** The text of the chunks. */
function wordsIn(updates: readonly Update[]): string {
  return updates
    .map(({ content }) => (content as { readonly text?: string } | undefined)?.text ?? "")
    .join("");
}

const NOBODY = "00000000-0000-4000-8000-000000000000";

describe("a message in an editor", () => {
  const PIXEL =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  it("keeps its row byte for byte after more messages, another load, or a stopped answer", async () => {
    const { editor, database, cwd } = room([
      { to: "slow", say: ["so far ", { wait_ms: 60_000 }] },
      {
        say: [
          { think: "Let me see. " },
          "Looking. ",
          { plan: ["look", "tell"] },
          { tool: "read_file", arguments: { path: "a.txt" }, result: "a" },
          "Done.",
        ],
      },
    ]);
    const rows = (): unknown[] =>
      look(database, (db) => db.prepare("select rowid, * from messages order by rowid").all());
    const first = await editor();
    const sessionId = await first.open();
    await first.prompt(
      sessionId,
      "look at",
      { type: "resource_link", name: "notes", uri: `file://${cwd}/notes.md` },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "resource", resource: { uri: `file://${cwd}/a.txt`, text: "the text of a" } },
    );
    const before = rows();
    expect(before).toHaveLength(4);
    const replay = await first.load(sessionId);
    expect(JSON.stringify(replay)).toContain(PIXEL);
    expect(JSON.stringify(replay)).toContain("the text of a");
    expect(wordsIn(replay.filter(({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk"))).toBe(
      "Let me see. ",
    );

    await first.prompt(sessionId, "and again");
    const more = rows();
    expect(more).toHaveLength(8);
    expect(more.slice(0, 4)).toEqual(before);
    const stopped = first.prompt(sessionId, "slow, please");
    await first.until(() => first.shown(sessionId).find((update) => wordsIn([update]) === "so far "));
    await first.ask("session/close", { sessionId });
    expect(await stopped).toEqual({ stopReason: "cancelled" });
    await first.closed();

    const second = await editor();
    const again = await second.load(sessionId);
    expect(rows().slice(0, 8)).toEqual(more);
    expect(rows()).toHaveLength(10);
    expect(again.slice(0, replay.length)).toEqual(replay);
  });

  it("is found by search, in the terminal and in the thread", async () => {
    const { editor, json } = room();
    const here = await editor();
    const sessionId = await here.open();
    await here.prompt(sessionId, "how do I reload nginx without losing connections?");
    const { hits } = await json<{ hits: readonly { role: string }[] }>("sessions", "search", "nginx");
    // Their order depends on how many are indexed yet.
    expect(hits.toSorted((a, b) => b.role.localeCompare(a.role))).toMatchObject([
      { session: sessionId, role: "user" },
      { session: sessionId, role: "assistant" },
    ]);
    await here.prompt(sessionId, "/search nginx");
    expect(wordsIn(here.shown(sessionId, "agent_message_chunk"))).toContain(
      "how do I reload **nginx** without",
    );
  });
});

describe("an unknown id", () => {
  it("is an error in every request, and creates no session", async () => {
    const { editor, database } = room();
    const here = await editor();
    const sessionId = await here.open();
    await here.prompt(sessionId, "hello");
    const wanted: Readonly<Record<string, object>> = {
      "session/load": { cwd: "/project", mcpServers: [] },
      "session/resume": { cwd: "/project" },
      "session/fork": { cwd: "/project" },
      "session/prompt": { prompt: [{ type: "text", text: "hello" }] },
      "session/set_mode": { modeId: "allow" },
      "session/close": {},
    };
    for (const [method, params] of Object.entries(wanted))
      await expect(here.ask(method, { sessionId: NOBODY, ...params }), method).rejects.toMatchObject({
        code: -32002,
        data: { code: "not_found" },
      });
    expect(await here.ask("session/list", {})).toMatchObject({ sessions: [{ sessionId }] });
    expect(look(database, (db) => db.prepare("select id from sessions").pluck().all())).toEqual([sessionId]);
  });
});

describe("a session of one editor", () => {
  it("keeps its parent, also in other processes, and outlives it", async () => {
    const { editor, json, cwd } = room();
    const here = await editor();
    const parent = await here.open();
    await here.prompt(parent, "one");
    const { sessionId } = await here.ask<{ sessionId: string }>("session/fork", { sessionId: parent, cwd });
    const { session } = await json<{ session: object }>("sessions", "show", sessionId);
    expect(session).toMatchObject({ id: sessionId, parent_session_id: parent });
    await here.ask("session/delete", { sessionId: parent });
    const other = await editor();
    expect(wordsIn(await other.load(sessionId))).toBe("oneYou said: one");
  });

  it("passes its model on to a fork, but not its approvals", async () => {
    const { editor, cwd } = room([{ say: [{ model: true }, " ", { reasoning: true }] }]);
    const here = await editor();
    const parent = await here.open();
    for (const [configId, value] of Object.entries({ model: "small", reasoning: "high", mode: "allow" }))
      await here.ask("session/set_config_option", { sessionId: parent, configId, value });
    const forked = await here.ask<{
      sessionId: string;
      configOptions: { id: string; currentValue: string }[];
    }>("session/fork", { sessionId: parent, cwd });
    expect(forked.configOptions.map(({ id, currentValue }) => [id, currentValue])).toEqual([
      ["mode", "ask"],
      ["model", "small"],
      ["reasoning", "high"],
    ]);
    await here.prompt(forked.sessionId, "which are you?");
    expect(wordsIn(here.shown(forked.sessionId, "agent_message_chunk"))).toBe("small high");
  });

  it("is closed or deleted alone: sessions of other editors stay and continue", async () => {
    const { editor } = room();
    const [one, other] = [await editor(), await editor()];
    const [deleted, closed, kept] = [await one.open(), await one.open(), await other.open()];
    for (const sessionId of [deleted, closed]) await one.prompt(sessionId, "mine");
    await other.prompt(kept, "theirs");
    await one.ask("session/delete", { sessionId: deleted });
    await one.ask("session/close", { sessionId: closed });
    await one.closed();

    const { sessions } = await other.ask<{ sessions: { sessionId: string }[] }>("session/list", {});
    expect(sessions.map(({ sessionId }) => sessionId).sort()).toEqual([closed, kept].sort());
    await expect(other.load(deleted)).rejects.toMatchObject({ code: -32002 });
    expect(wordsIn(await other.load(closed))).toBe("mineYou said: mine");
    expect(await other.prompt(closed, "and on")).toEqual({ stopReason: "end_turn" });
    expect(await other.prompt(kept, "and on")).toEqual({ stopReason: "end_turn" });
  });

  it("that is open in two windows shows the partial answer of a killed window in the other", async () => {
    const { editor } = room([
      { to: "slow", say: [{ think: "hm " }, "so far", { wait_ms: 60_000 }, "never"] },
      { say: ["You said: ", { echo: true }] },
    ]);
    const [one, other] = [await editor(), await editor()];
    const sessionId = await one.open();
    await other.load(sessionId);
    void one.prompt(sessionId, "slow, please");
    await one.until(() => one.shown(sessionId).find((update) => wordsIn([update]) === "so far"));
    const waiting = other.prompt(sessionId, "hello");
    one.kill();
    await one.ended;
    expect(await waiting).toEqual({ stopReason: "end_turn" });
    const replay = await (await editor()).load(sessionId);
    expect(wordsIn(replay)).toMatch(/^slow, pleasehm so far\s+_\(stopped\)_\s+helloYou said: hello$/);
    // The editor shows its own prompts.
    const elsewhere = replay.filter((update) => wordsIn([update]) !== "hello");
    const here = await other.until(() => {
      const shown = other.shown(sessionId).filter(isSaid);
      return wordsIn(shown).length === wordsIn(elsewhere).length ? shown : undefined;
    });
    expect(wordsIn(here)).toBe(wordsIn(elsewhere));
  });
});

describe("a dangerous action", () => {
  /** Writes a file in the session's folder after an approval. */
  const answers = [
    {
      say: [
        { approve: { title: "Write into it", detail: "rm -rf", pattern: "rm *" }, denied: "Not allowed." },
        { tool: "terminal", arguments: { command: "rm -rf" }, run: ["sh", "-c", "cat >> done.txt"] },
        "Done.",
      ],
    },
  ];
  const doneIn = (folder: string): string => {
    const file = join(folder, "done.txt");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };

  it("needs an approval in its own session, which does not apply to other sessions", async () => {
    const { editor, cwd } = room(answers);
    const asked: { sessionId: string; before: string }[] = [];
    const chosen = new Map<string, string>();
    const here = await editor({
      async asked(method, params) {
        expect(method).toBe("session/request_permission");
        const { sessionId } = params as { readonly sessionId: string };
        asked.push({ sessionId, before: doneIn(cwd) });
        return { outcome: { outcome: "selected", optionId: chosen.get(sessionId) } };
      },
    });
    const [allowed, denied] = [await here.open(), await here.open()];
    chosen.set(allowed, "session").set(denied, "deny");
    await Promise.all([here.prompt(allowed, "allowed-1 "), here.prompt(denied, "denied-1 ")]);
    await Promise.all([here.prompt(allowed, "allowed-2 "), here.prompt(denied, "denied-2 ")]);
    expect(asked.map(({ sessionId }) => sessionId).sort()).toEqual([allowed, denied, denied].sort());
    expect(asked.find(({ sessionId }) => sessionId === allowed)?.before).toBe("");
    expect(doneIn(cwd)).toBe("allowed-1 allowed-2 ");
    expect(wordsIn(here.shown(denied, "agent_message_chunk"))).toBe("Not allowed.Not allowed.");
  });

  it("does not run without an answer: the editor refuses, answers with invalid data, or disconnects", async () => {
    const { editor, cwd } = room(answers);
    for (const answer of [{}, { outcome: { outcome: "cancelled" } }, { outcome: "yes" }]) {
      const here = await editor({ asked: async () => answer });
      const sessionId = await here.open();
      expect(await here.prompt(sessionId, "please")).toEqual({ stopReason: "end_turn" });
      expect(wordsIn(here.shown(sessionId, "agent_message_chunk"))).toBe("Not allowed.");
      await here.closed();
    }
    const { promise: wasAsked, resolve } = Promise.withResolvers<void>();
    const here = await editor({
      asked: () => {
        resolve();
        return new Promise(() => {});
      },
    });
    void here.prompt(await here.open(), "please");
    await wasAsked;
    await here.closed();
    expect(doneIn(cwd)).toBe("");
  });
});

describe("a prompt with a slash", () => {
  it("is answered in one message if it is a known command, and goes to the model otherwise", async () => {
    const { editor } = room([{ say: ["The model got ", { echo: true }] }]);
    const here = await editor();
    const sessionId = await here.open();
    const answerTo = async (line: string): Promise<readonly Update[]> => {
      const before = here.shown(sessionId, "agent_message_chunk").length;
      expect([line, await here.prompt(sessionId, line)]).toEqual([line, { stopReason: "end_turn" }]);
      return here.shown(sessionId, "agent_message_chunk").slice(before);
    };
    const ours = {
      "/help": /\/compress.*\n.*\/model/s,
      "/model": /small|script/,
      "/model large": /large/,
      "/status": /0 messages/,
      "/reset": /./,
      "/compact": /./,
    };
    for (const [line, words] of Object.entries(ours)) {
      const answer = await answerTo(line);
      expect([line, answer.length, wordsIn(answer)]).toEqual([line, 1, expect.stringMatching(words)]);
      expect(wordsIn(answer)).not.toContain("The model got");
    }
    for (const line of ["/tools", "/context", "/version", "/explain this"])
      expect(wordsIn(await answerTo(line))).toBe(`The model got ${line}`);
  });
});

describe("two calls of one tool at once", () => {
  it("have different ids and their own results, live and after a load", async () => {
    const call = (words: string) => ({
      tool: "terminal",
      arguments: { command: `echo ${words}` },
      run: ["echo", words],
    });
    const { editor } = room([{ say: [{ together: [call("one"), call("two")] }, "Done."] }]);
    const here = await editor();
    const sessionId = await here.open();
    await here.prompt(sessionId, "go");
    const shown = here.shown(sessionId, "tool_call", "tool_call_update");
    const ids = shown.map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(2);
    expect(
      shown.map(({ sessionUpdate, toolCallId, title, rawOutput }) => [
        sessionUpdate,
        toolCallId,
        title ?? rawOutput,
      ]),
    ).toEqual([
      ["tool_call", ids[0], "echo one"],
      ["tool_call", ids[1], "echo two"],
      ["tool_call_update", ids[0], "one\n"],
      ["tool_call_update", ids[1], "two\n"],
    ]);
    const again = (await (await editor()).load(sessionId)).filter(
      ({ toolCallId }) => toolCallId !== undefined,
    );
    expect(
      again.map(({ toolCallId, title, rawOutput, status }) => [toolCallId, title, rawOutput, status]),
    ).toEqual([
      [ids[0], "echo one", "one\n", "completed"],
      [ids[1], "echo two", "two\n", "completed"],
    ]);
  });
});

describe("the model of a session", () => {
  it("may belong to another provider, and stays when the default changes", async () => {
    const [own, router] = [await modelServer({ say: ["own"] }), await modelServer({ say: ["router"] })];
    const { editor, home } = room();
    const settings = `model:\n  provider: openrouter\n  base_url: ${router.url}\n  api_key: router-secret\n`;
    writeFileSync(join(home, "config.yaml"), settings, { mode: 0o600 });
    const started = (model: string) =>
      editor({ agent: "model", environment: { POSTRIDER_BASE_URL: own.url, POSTRIDER_MODEL: model } });
    const here = await started("tiny");
    const [chosen, usual] = [await here.open(), await here.open()];
    await here.ask("session/set_config_option", {
      sessionId: chosen,
      configId: "model",
      value: "openrouter:openai/gpt-9",
    });
    await here.prompt(chosen, "one");
    await here.prompt(usual, "one");
    await here.closed();
    const later = await started("huge");
    const { configOptions } = await later.ask<{ configOptions: { id: string; currentValue: string }[] }>(
      "session/resume",
      { sessionId: chosen, cwd: "/project" },
    );
    expect(configOptions.find(({ id }) => id === "model")?.currentValue).toBe("openrouter:openai/gpt-9");
    await later.prompt(chosen, "two");
    await later.prompt(usual, "two");
    expect(router.requests.map(({ body }) => body.model)).toEqual(["openai/gpt-9", "openai/gpt-9"]);
    expect(router.requests.every(({ headers }) => headers.authorization === "Bearer router-secret")).toBe(
      true,
    );
    // Without a choice, the configuration applies.
    expect(own.requests.map(({ body }) => body.model)).toEqual(["tiny", "huge"]);
    expect(JSON.stringify(own.requests)).not.toContain("router-secret");
  });
});
