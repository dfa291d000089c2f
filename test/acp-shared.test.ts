import type { SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import { textPart } from "../src/core/message.ts";
import { getText, localRunner, OWNER, source } from "../src/index.ts";
import { awaitChange } from "../src/sessions/await-change.ts";
import { errorIn } from "./acp/editor.ts";
import { type EditorRoom, editorRoom, me, repeating, type ServedEditor } from "./acp/editor-room.ts";
import { gatewayRoom } from "./support/gateway-room.ts";
import { type HeldAgent, heldAgent, talkIn } from "./support/talking.ts";
import { type FakeClock, fakeClock, type Home } from "./support/test-home.ts";

/** The messages that an editor shows, with role and text. Chunks of one message are joined. */
function shownIn(editor: ServedEditor, sessionId: string, after = 0): string[] {
  const said: { id: unknown; words: string }[] = [];
  for (const update of editor.shown(sessionId).slice(after)) {
    if (!("messageId" in update) || update.messageId == null) continue;
    const { content } = update as { readonly content: { readonly text?: string; readonly type: string } };
    const words = content.text ?? `[${content.type}]`;
    const last = said.at(-1);
    if (last !== undefined && last.id === update.messageId) last.words += words;
    else said.push({ id: update.messageId, words: `${who(update)}: ${words}` });
  }
  return said.map(({ words }) => words);
}

function who({ sessionUpdate }: SessionUpdate): string {
  if (sessionUpdate === "user_message_chunk") return "person";
  return sessionUpdate === "agent_thought_chunk" ? "thought" : "agent";
}

async function load(editor: ServedEditor, room: EditorRoom, sessionId: string): Promise<void> {
  await editor.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
}

/** Two editors with the same session open. */
async function two(agent = repeating()): Promise<{
  room: EditorRoom;
  a: ServedEditor;
  b: ServedEditor;
  sessionId: string;
}> {
  const room = editorRoom({ agent });
  const [a, b] = [await room.editor(), await room.editor()];
  const { sessionId } = await a.open();
  await load(b, room, sessionId);
  return { room, a, b, sessionId };
}

async function saying(agent: HeldAgent, words: string): Promise<void> {
  const answer = await agent.asked();
  answer.send({ type: "text", text: words });
  answer.end();
}

describe("a session that is open in two editors", () => {
  it("shows the messages of one editor in the other, once and in order", async () => {
    const { room, a, b, sessionId } = await two();
    const expected: string[] = [];
    const seen = { a: [] as string[], b: [] as string[] };
    for (const [at, editor] of [a, b, b, a, b, a].entries()) {
      await editor.prompt(sessionId, `message ${at}`);
      const exchange = [`person: message ${at}`, `agent: You said: message ${at}`];
      expected.push(...exchange);
      // The sender shows its own prompt, so it gets only the answer.
      seen.a.push(...(editor === a ? exchange.slice(1) : exchange));
      seen.b.push(...(editor === b ? exchange.slice(1) : exchange));
      for (const each of [a, b]) {
        const wanted = each === a ? seen.a : seen.b;
        await each.until(() => (shownIn(each, sessionId).length >= wanted.length ? true : undefined));
        expect(shownIn(each, sessionId)).toEqual(wanted);
      }
    }
    const fresh = await room.editor();
    await load(fresh, room, sessionId);
    expect(shownIn(fresh, sessionId)).toEqual(expected);
    // With the same ids in all editors.
    const ids = ({ updates }: ServedEditor): Set<unknown> =>
      new Set(updates.flatMap(({ update }) => ("messageId" in update ? [update.messageId] : [])));
    expect([...ids(a), ...ids(b)].filter((id) => !ids(fresh).has(id))).toEqual([]);
  });

  it("shows tool calls of the other editor with their results", async () => {
    const agent = script({
      answers: [
        { say: ["Let me.", { tool: "read_file", arguments: { path: "a.md" }, result: "tide" }, "Done."] },
      ],
    });
    const { a, b, sessionId } = await two(agent);
    await a.prompt(sessionId, "look");
    await b.until(() => b.words(sessionId).includes("Done.") || undefined);
    const calls = (editor: ServedEditor) =>
      editor
        .shown(sessionId, "tool_call", "tool_call_update")
        .map((update) => ("toolCallId" in update ? [update.toolCallId, update.status] : []));
    expect(calls(b).at(-1)).toEqual([calls(a)[0]?.[0], "completed"]);
    expect(new Set(calls(b).map(([id]) => id)).size).toBe(1);
  });

  it("answers prompts of both in order, each in its own editor", async () => {
    const agent = heldAgent();
    const { a, b, sessionId } = await two(agent);
    const first = a.prompt(sessionId, "from a");
    const answer = await agent.asked();
    expect(getText(answer.turn.history.at(-1) ?? { parts: [] })).toBe("from a");
    await answer.say("To a.");
    const second = b.prompt(sessionId, "from b");
    const third = a.prompt(sessionId, "again from a");
    await a.until(() => a.words(sessionId) || undefined);
    answer.end();
    expect(await first).toEqual({ stopReason: "end_turn" });
    const rest = [await nextOf(agent), await nextOf(agent)];
    expect(await Promise.all([second, third])).toEqual(Array(2).fill({ stopReason: "end_turn" }));
    expect(new Set(rest)).toEqual(new Set(["from b", "again from a"]));
    const answers = (editor: ServedEditor): string[] =>
      shownIn(editor, sessionId).filter((words) => words.startsWith("agent"));
    for (const editor of [a, b]) {
      await editor.until(() => (answers(editor).length >= 3 ? true : undefined));
      expect(answers(editor)).toEqual(["agent: To a.", ...rest.map((said) => `agent: To ${said}.`)]);
    }
  });

  it("is cancelled in one without effect on the other", async () => {
    const agent = heldAgent();
    const { a, b, sessionId } = await two(agent);
    const first = a.prompt(sessionId, "from a");
    const answer = await agent.asked();
    await answer.say("To a.");
    const second = b.prompt(sessionId, "from b");
    await b.agent.notify("session/cancel", { sessionId });
    expect(await second).toEqual({ stopReason: "cancelled" });
    expect(answer.signal.aborted).toBe(false);
    const third = b.prompt(sessionId, "again from b");
    await a.agent.notify("session/cancel", { sessionId });
    expect(await first).toEqual({ stopReason: "cancelled" });
    await saying(agent, "To b.");
    expect(await third).toEqual({ stopReason: "end_turn" });
  });

  it("shows the running answer of the other editor, and its end", async () => {
    const agent = heldAgent();
    const room = editorRoom({ agent });
    const [a, b] = [await room.editor(), await room.editor()];
    const { sessionId } = await a.open();
    const prompted = a.prompt(sessionId, "look");
    const answer = await agent.asked();
    const call = { id: "c1", name: "read_file", arguments: { path: "a.md" } };
    answer.send({ type: "text", text: "Let me." }, { type: "tool_call", call });
    await a.until(() => a.shown(sessionId, "tool_call")[0]);
    await load(b, room, sessionId);
    expect(b.shown(sessionId, "tool_call")).toMatchObject([{ status: "in_progress", title: "Read a.md" }]);
    const parts = [{ type: "text", text: "tide" } as const];
    answer.send({ type: "tool_result", id: "c1", name: "read_file", parts }, { type: "text", text: "Done." });
    answer.end();
    await prompted;
    await b.until(() => b.words(sessionId).includes("Done.") || undefined);
    expect(shownIn(b, sessionId)).toEqual(["person: look", "agent: Let me.", "agent: Done."]);
    expect(b.shown(sessionId, "tool_call_update")).toMatchObject([
      { status: "completed", rawOutput: "tide" },
    ]);
  });

  it("streams the answer of the other editor: thoughts, text and tool cards, each once", async () => {
    const agent = heldAgent();
    const { a, b, sessionId } = await two(agent);
    const prompted = a.prompt(sessionId, "look");
    const answer = await agent.asked();
    const seenInB = (...said: readonly string[]): Promise<unknown> =>
      b.until(() => JSON.stringify(shownIn(b, sessionId)) === JSON.stringify(said) || undefined);
    await seenInB("person: look");
    answer.send({ type: "thought", text: "Hm" });
    await seenInB("person: look", "thought: Hm");
    answer.send({ type: "thought", text: "m." }, { type: "text", text: "Let " });
    await b.until(() => b.words(sessionId).includes("Let ") || undefined);
    answer.send({ type: "text", text: "me." });
    await b.until(() => b.words(sessionId) === "Let me." || undefined);
    const call = { id: "c1", name: "read_file", arguments: { path: "a.md" } };
    answer.send({ type: "tool_call", call });
    await b.until(() => b.shown(sessionId, "tool_call")[0]);
    const parts = [{ type: "text", text: "tide" } as const];
    answer.send({ type: "tool_result", id: "c1", name: "read_file", parts }, { type: "text", text: "High " });
    await b.until(() => b.words(sessionId).endsWith("High ") || undefined);
    expect(b.shown(sessionId, "tool_call_update")).toMatchObject([{ status: "completed" }]);
    answer.send({ type: "text", text: "tide." });
    answer.end();
    await prompted;
    await b.until(() => b.words(sessionId) === "Let me.High tide." || undefined);
    const ids = (editor: ServedEditor): unknown[] => [
      ...new Set(
        editor
          .shown(sessionId, "agent_message_chunk", "agent_thought_chunk")
          .map((update) => ("messageId" in update ? update.messageId : undefined)),
      ),
    ];
    expect(ids(b)).toEqual(ids(a));
  });

  it("shows an editor that opens it during an answer the text so far, then the rest", async () => {
    const agent = heldAgent();
    const room = editorRoom({ agent });
    const [a, b] = [await room.editor(), await room.editor()];
    const { sessionId } = await a.open();
    const prompted = a.prompt(sessionId, "look");
    const answer = await agent.asked();
    answer.send({ type: "text", text: "Once " });
    await a.until(() => a.words(sessionId) === "Once " || undefined);
    await load(b, room, sessionId);
    await b.until(() => b.words(sessionId) === "Once " || undefined);
    answer.send({ type: "text", text: "upon a time" });
    await b.until(() => b.words(sessionId) === "Once upon a time" || undefined);
    await a.agent.notify("session/cancel", { sessionId });
    await prompted;
    await b.until(() => b.words(sessionId).includes("(stopped)") || undefined);
    expect(b.words(sessionId)).toBe("Once upon a time\n\n_(stopped)_\n\n");
  });

  it("is closed in one without effect on the other", async () => {
    const agent = heldAgent();
    const { a, b, sessionId } = await two(agent);
    const first = a.prompt(sessionId, "from a");
    const answer = await agent.asked();
    await answer.say("Half");
    const second = b.prompt(sessionId, "from b");
    await a.until(() => a.words(sessionId) || undefined);
    await a.call("session/close", { sessionId });
    expect(await first).toEqual({ stopReason: "cancelled" });
    await saying(agent, "Whole.");
    expect(await second).toEqual({ stopReason: "end_turn" });
    a.hangUp();
    await a.ended;
    const third = b.prompt(sessionId, "still there?");
    await saying(agent, "Yes.");
    expect(await third).toEqual({ stopReason: "end_turn" });
    expect(shownIn(b, sessionId).map((words) => words.trim())).toEqual([
      "person: from a",
      "agent: Half",
      expect.stringContaining("stopped"),
      "agent: Whole.",
      "agent: Yes.",
    ]);
  });

  it("has the options that either editor set", async () => {
    const { room, a, sessionId } = await two();
    await a.agent.request("session/set_mode", { sessionId, modeId: "allow" });
    const other = await room.editor();
    const { modes } = await other.agent.request("session/resume", { sessionId, cwd: room.cwd });
    expect(modes?.currentModeId).toBe("allow");
  });
});

async function nextOf(agent: HeldAgent): Promise<string> {
  const answer = await agent.asked();
  const said = getText(answer.turn.history.at(-1) ?? { parts: [] });
  answer.send({ type: "text", text: `To ${said}.` });
  answer.end();
  return said;
}

/** The room's database through another connection. */
async function homeIn(room: EditorRoom, clock: FakeClock): Promise<Home> {
  const again = async (): Promise<Home> => ({
    ...(await room.look()),
    file: room.database,
    clock,
    again,
    restart: again,
  });
  return again();
}

describe("a session with a turn in another process", () => {
  it("shows the end of that turn when the other process crashes, without a prompt", async () => {
    const { room, a, sessionId } = await two();
    await a.prompt(sessionId, "hello");
    const { store } = await room.look();
    const now = Date.now();
    const runner = localRunner();
    await store.runners.recordHeartbeat({ runner, now });
    const accepted = await store.inbox.accept({
      source: { platform: "acp", chatId: sessionId, chatType: "dm" },
      profile: "main",
      scope: { groupsPerUser: true, threadsPerUser: false },
      reset: {},
      newSession: { id: sessionId, kind: "editor", cwd: room.cwd },
      messageId: "theirs",
      message: { role: "user", parts: [textPart("from the other")] },
      claim: { runner: runner.id, take: "one", own: true },
      now,
    });
    if (accepted.duplicate || accepted.tooMany !== undefined || accepted.turn === undefined)
      throw new Error("the turn was not started");
    const { number: turn, fence } = accepted.turn;
    await store.turns.saveDraft({ turn, fence, answerDraft: { text: "Half an ans", thought: "" } });
    await a.until(() => shownIn(a, sessionId).at(-1) === "agent: Half an ans" || undefined);
    await store.runners.retire({ runner: runner.id });
    const isOver = async () => (await store.turns.listClaimable({ now })).length === 0;
    while (!(await isOver())) await awaitChange(store, new AbortController().signal).happened;
    expect((await store.messages.listMessages({ asker: me, session: sessionId }))?.at(-1)).toMatchObject({
      parts: [{ text: "Half an ans" }],
      origin: { interrupted: true },
    });
  });

  it("waits for the answer in a terminal, shows it, and continues", async () => {
    const clock = fakeClock();
    const agent = heldAgent();
    const room = editorRoom({ agent, clock });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const home = await homeIn(room, clock);
    const theirs = heldAgent();
    const terminal = await talkIn(home, theirs);
    const { conversation } = await terminal.talk.open();
    await home.sessions.switchTo(me, conversation.number, sessionId);
    const there = terminal.ask("from the terminal");
    const answer = await theirs.asked();
    await answer.say("For the ");
    const here = editor.prompt(sessionId, "from the editor");
    answer.send({ type: "text", text: "terminal." });
    answer.end();
    expect(await there).toBe("For the terminal.");
    const own = await agent.asked();
    expect(own.turn.history.map(getText)).toEqual([
      "from the terminal",
      "For the terminal.",
      "from the editor",
    ]);
    own.send({ type: "text", text: "For the editor." });
    own.end();
    expect(await here).toEqual({ stopReason: "end_turn" });
    expect(shownIn(editor, sessionId)).toEqual([
      "person: from the terminal",
      "agent: For the terminal.",
      "agent: For the editor.",
    ]);
  });
});

describe("a session from Telegram", () => {
  const ann = source({ platform: "telegram", chatId: "7", chatType: "dm", userId: "7", userName: "Ann" });
  const telling = script({
    answers: [
      {
        to: "look",
        say: [
          { think: "A picture." },
          { tool: "read_file", arguments: { path: "/a/tides.md" }, result: "nine" },
          "At nine.",
        ],
      },
      { say: ["You said: ", { echo: true }] },
    ],
  });

  it("is listed with --all, has all its messages, and continues in both", async () => {
    const clock = fakeClock();
    const room = editorRoom({ agent: telling, clock });
    const home = await homeIn(room, clock);
    await home.store.access.linkAccount({
      account: { platform: "telegram", userId: "7" },
      person: OWNER,
      now: clock.now(),
    });
    const { chat } = await gatewayRoom({ agent: telling, home });
    const phone = chat(ann);
    await phone.show("a picture", "look at this");
    expect(await phone.texts(1)).toEqual(["At nine."]);
    const { items } = await home.sessions.list(me);
    const sessionId = items[0]?.id ?? "";

    const few = await room.editor();
    const refused = { sessionId, cwd: room.cwd, mcpServers: [] };
    expect(errorIn(await few.call("session/load", refused))).toMatchObject({ code: -32002 });
    expect((await few.agent.request("session/list", {})).sessions).toEqual([]);

    const editor = await room.editor({ all: true });
    expect((await editor.agent.request("session/list", {})).sessions).toMatchObject([{ sessionId }]);
    await load(editor, room, sessionId);
    const picture = Buffer.from("a picture").toString("base64");
    expect(
      editor.shown(sessionId).filter(({ sessionUpdate }) => sessionUpdate !== "available_commands_update"),
    ).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: { type: "text", text: "look at this" } },
      {
        sessionUpdate: "user_message_chunk",
        content: { type: "image", data: picture, mimeType: "image/png" },
      },
      { sessionUpdate: "agent_thought_chunk", content: { text: "A picture." } },
      { sessionUpdate: "tool_call", kind: "read", status: "completed", rawOutput: "nine" },
      { sessionUpdate: "agent_message_chunk", content: { text: "At nine." } },
    ]);

    const before = editor.shown(sessionId).length;
    await phone.say("from the phone");
    expect((await phone.texts(2)).at(-1)).toBe("You said: from the phone");
    await editor.until(() => (shownIn(editor, sessionId, before).length >= 2 ? true : undefined));
    await editor.prompt(sessionId, "from the editor");
    await phone.say("from the phone again");
    expect((await phone.texts(3)).at(-1)).toBe("You said: from the phone again");
    await editor.until(() => (shownIn(editor, sessionId, before).length >= 5 ? true : undefined));
    expect(shownIn(editor, sessionId, before)).toEqual([
      "person: from the phone",
      "agent: You said: from the phone",
      "agent: You said: from the editor",
      "person: from the phone again",
      "agent: You said: from the phone again",
    ]);
    // The answer to a prompt of the editor is not sent to Telegram.
    expect(await phone.texts(3)).toHaveLength(3);
  });
});
