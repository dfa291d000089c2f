import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { script } from "../src/agents/script.ts";
import type { Approval } from "../src/core/approval.ts";
import { getText } from "../src/index.ts";
import type { PermissionAsked } from "./acp/editor.ts";
import { editorRoom, me, type ServedEditor } from "./acp/editor-room.ts";
import { look } from "./support/database.ts";
import { heldAgent } from "./support/talking.ts";
import { fakeClock, MINUTE } from "./support/test-home.ts";

/** Asks for approval before it answers; with a pattern, unless the prompt says otherwise. */
const asking = script({
  answers: [
    {
      to: "^plain",
      say: [{ approve: { title: "Write notes", detail: "cat >> notes.md" }, denied: "Refused." }, "Allowed."],
    },
    {
      say: [
        { approve: { title: "Run ls", detail: "ls -l", pattern: "ls" }, denied: "Refused." },
        "Allowed: ",
        { echo: true },
      ],
    },
  ],
});

async function scene(): Promise<{ editor: ServedEditor; sessionId: string }> {
  const editor = await editorRoom({ agent: asking }).editor();
  const { sessionId } = await editor.open();
  return { editor, sessionId };
}

/** The agent's answer to a prompt; `answer` is the editor's reaction to the approval request. */
async function told(
  editor: ServedEditor,
  sessionId: string,
  answer?: (asked: PermissionAsked) => void,
  words = "go",
): Promise<string> {
  const before = editor.words(sessionId).length;
  const count = editor.permissions.length;
  const prompted = editor.prompt(sessionId, words);
  if (answer !== undefined) answer(await editor.asked());
  expect(await prompted).toEqual({ stopReason: "end_turn" });
  expect(editor.permissions).toHaveLength(count + (answer === undefined ? 0 : 1));
  return editor.words(sessionId).slice(before);
}

const choose = (optionId: string) => (asked: PermissionAsked) => asked.choose(optionId);

describe("an approval request", () => {
  it("has all details, and one option of each kind if it has a pattern", async () => {
    const { editor, sessionId } = await scene();
    await told(editor, sessionId, ({ params, choose: answer }) => {
      expect(params).toEqual({
        sessionId,
        toolCall: {
          toolCallId: expect.stringMatching(/^approval-\d+$/),
          title: "Run ls",
          kind: "other",
          status: "pending",
          content: [{ type: "content", content: { type: "text", text: "ls -l" } }],
        },
        options: [
          { optionId: "once", name: "Allow once", kind: "allow_once" },
          { optionId: "session", name: "Allow in this session", kind: "allow_always" },
          { optionId: "deny", name: "Reject", kind: "reject_once" },
          { optionId: "never", name: "Always reject", kind: "reject_always" },
        ],
      });
      answer("once");
    });
    await told(
      editor,
      sessionId,
      ({ params, choose: answer }) => {
        expect(params.options.map(({ kind }) => kind)).toEqual(["allow_once", "reject_once"]);
        answer("once");
      },
      "plain",
    );
  });

  it("about a call has the card that the call will have", async () => {
    const agent = heldAgent();
    const room = editorRoom({ agent });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const call = {
      id: "c1",
      name: "edit_file",
      arguments: { path: "a.md", old_string: "a", new_string: "b" },
    };
    const ids: string[] = [];
    // Providers may repeat ids in each answer.
    for (const round of [1, 2]) {
      const prompted = editor.prompt(sessionId, `round ${round}`);
      const answer = await agent.asked();
      const given = Promise.withResolvers<string>();
      const request = { title: "Edit a.md", pattern: "edit" };
      answer.send(
        { type: "text", text: "Let me." },
        { type: "approval", request, call, answer: given.resolve },
      );
      const asked = await editor.asked();
      expect(asked.params.toolCall).toMatchObject({
        kind: "edit",
        status: "pending",
        locations: [{ path: join(room.cwd, "a.md") }],
        content: [{ type: "diff", path: join(room.cwd, "a.md"), oldText: "a", newText: "b" }],
      });
      asked.choose("once");
      expect(await given.promise).toBe("once");
      answer.send({ type: "tool_call", call });
      answer.send({
        type: "tool_result",
        id: "c1",
        name: "edit_file",
        parts: [{ type: "text", text: "ok" }],
      });
      answer.end();
      await prompted;
      const [made] = editor.shown(sessionId, "tool_call").slice(-1);
      expect(made).toMatchObject({ toolCallId: asked.params.toolCall.toolCallId });
      ids.push(asked.params.toolCall.toolCallId);
    }
    expect(new Set(ids).size).toBe(2);
  });

  it("can be allowed once, and is asked again", async () => {
    const { editor, sessionId } = await scene();
    expect(await told(editor, sessionId, choose("once"))).toBe("Allowed: go");
    expect(await told(editor, sessionId, choose("deny"))).toBe("Refused.");
    expect(await told(editor, sessionId, choose("once"))).toBe("Allowed: go");
  });

  it("can be allowed in the session, and is asked in others", async () => {
    const { editor, sessionId } = await scene();
    const other = await editor.open();
    expect(await told(editor, sessionId, choose("session"))).toBe("Allowed: go");
    expect(await told(editor, sessionId)).toBe("Allowed: go");
    expect(await told(editor, other.sessionId, choose("deny"))).toBe("Refused.");
  });

  it("cannot be allowed everywhere by an editor, which may use the last of two options of a kind", async () => {
    const { editor, sessionId } = await scene();
    expect(await told(editor, sessionId, choose("always"))).toBe("Refused.");
    expect(await told(editor, sessionId, choose("once"))).toBe("Allowed: go");
  });

  it("can be denied always, everywhere", async () => {
    const { editor, sessionId } = await scene();
    expect(await told(editor, sessionId, choose("never"))).toBe("Refused.");
    expect(await told(editor, sessionId)).toBe("Refused.");
    expect(await told(editor, (await editor.open()).sessionId)).toBe("Refused.");
  });

  it("is denied by every invalid answer", async () => {
    const { editor, sessionId } = await scene();
    expect(await told(editor, sessionId, choose("yes"))).toBe("Refused.");
    expect(await told(editor, sessionId, choose("toString"))).toBe("Refused.");
    expect(await told(editor, sessionId, ({ answer }) => answer({ outcome: { outcome: "cancelled" } }))).toBe(
      "Refused.",
    );
    expect(await told(editor, sessionId, ({ answer }) => answer({} as never))).toBe("Refused.");
    expect(await told(editor, sessionId, ({ fail }) => fail(new Error("no dialogue")))).toBe("Refused.");
    // An option that was not offered is invalid, too.
    expect(await told(editor, sessionId, choose("always"), "plain")).toBe("Refused.");
  });

  it("is not sent if the mode decides it", async () => {
    const { editor, sessionId } = await scene();
    await editor.agent.request("session/set_mode", { sessionId, modeId: "allow" });
    expect(await told(editor, sessionId)).toBe("Allowed: go");
    await editor.agent.request("session/set_mode", { sessionId, modeId: "deny" });
    expect(await told(editor, sessionId)).toBe("Refused.");
    await editor.agent.request("session/set_mode", { sessionId, modeId: "ask" });
    expect(await told(editor, sessionId, choose("once"))).toBe("Allowed: go");
  });

  it("gets its own answer in each of several sessions at once", async () => {
    const room = editorRoom({ agent: asking });
    const editor = await room.editor();
    const sessions = await Promise.all(Array.from({ length: 8 }, () => editor.open()));
    const prompts = sessions.map(({ sessionId }, at) => editor.prompt(sessionId, `number ${at}`));
    await editor.until(() => (editor.permissions.length === 8 ? true : undefined));
    for (const { params, choose: answer } of [...editor.permissions].reverse()) {
      const at = sessions.findIndex(({ sessionId }) => sessionId === params.sessionId);
      answer(at % 2 === 0 ? "once" : "deny");
    }
    await Promise.all(prompts);
    expect(sessions.map(({ sessionId }) => editor.words(sessionId))).toEqual(
      sessions.map((_, at) => (at % 2 === 0 ? `Allowed: number ${at}` : "Refused.")),
    );
  });

  it("without an answer is denied at its deadline, and cancelled in the editor", async () => {
    const clock = fakeClock();
    const room = editorRoom({ agent: asking, clock });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const asked = await editor.asked();
    clock.pass(5 * MINUTE);
    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toBe("Not answered in time, so not done: Run ls\n\nRefused.");
    expect(asked.signal.aborted).toBe(true);
    expect(answersIn(room.database)).toEqual(["expired"]);
  });

  it("with an answer from elsewhere is cancelled in the editor, and the turn continues", async () => {
    const room = editorRoom({ agent: asking });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const asked = await editor.asked();
    const { store } = await room.look();
    const [waiting]: readonly Approval[] = await store.access.listApprovals({ person: me.person });
    expect(waiting).toMatchObject({ session: sessionId, request: { title: "Run ls" } });
    await store.access.answerApproval({
      ...me,
      approval: waiting?.number ?? 0,
      answer: "session",
      now: Date.now(),
    });
    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toBe("Allowed: go");
    await editor.until(() => (asked.signal.aborted ? true : undefined));
    const requests = editor.wire.flatMap((message) =>
      "method" in message && "id" in message ? [message.id] : [],
    );
    expect(editor.wire).toContainEqual({
      jsonrpc: "2.0",
      method: "$/cancel_request",
      params: { requestId: requests[0] },
    });
    expect(await told(editor, sessionId)).toBe("Allowed: go");
  });

  it("can be answered by a command in the same thread", async () => {
    const { editor, sessionId } = await scene();
    const prompted = editor.prompt(sessionId, "go");
    const asked = await editor.asked();
    await editor.prompt(sessionId, "/approve");
    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(editor.words(sessionId)).toContain("Allowed: go");
    await editor.until(() => (asked.signal.aborted ? true : undefined));
  });

  it("ends when the answer is cancelled", async () => {
    const room = editorRoom({ agent: asking });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    const prompted = editor.prompt(sessionId, "go");
    const asked = await editor.asked();
    await editor.agent.notify("session/cancel", { sessionId });
    expect(await prompted).toEqual({ stopReason: "cancelled" });
    await editor.until(() => (asked.signal.aborted ? true : undefined));
    await room.look().then(({ store }) => settled(store, room.database));
    expect(answersIn(room.database)).toEqual(["expired"]);
    // A late answer has no effect.
    asked.choose("always");
    expect(await told(editor, sessionId, choose("deny"))).toBe("Refused.");
  });

  it("ends when the editor disconnects, and the partial answer is stored", async () => {
    const room = editorRoom({
      agent: script({
        answers: [{ say: ["Let me see.", { approve: { title: "Run ls", pattern: "ls" } }, "Done."] }],
      }),
    });
    const editor = await room.editor();
    const { sessionId } = await editor.open();
    editor.prompt(sessionId, "go").catch(() => {}); // it is never answered
    await editor.asked();
    editor.hangUp();
    await editor.ended;
    expect(answersIn(room.database)).toEqual(["expired"]);
    const { store } = await room.look();
    expect(await store.messages.listMessages({ asker: me, session: sessionId })).toMatchObject([
      { role: "user" },
      { role: "assistant", parts: [{ text: "Let me see." }], origin: { interrupted: true } },
    ]);
    expect(await store.turns.listClaimable({ now: Date.now() })).toEqual([]);
    expect(editor.logged.filter(({ level }) => level === "error")).toEqual([]);
    // The next process finds the request closed.
    const next = await room.editor();
    await next.agent.request("session/load", { sessionId, cwd: room.cwd, mcpServers: [] });
    expect(next.words(sessionId)).toContain("Let me see.");
    expect(
      await store.messages.listMessages({ asker: me, session: sessionId }).then((all) => all?.map(getText)),
    ).toEqual(["go", "Let me see."]);
  });
});

function answersIn(database: string): unknown[] {
  return look(database, (db) => db.prepare("select answer from approvals order by n").pluck().all());
}

/** No approval is pending. */
async function settled(
  store: { onChange(listener: () => void): () => void },
  database: string,
): Promise<void> {
  for (;;) {
    const changed = Promise.withResolvers<void>();
    const stop = store.onChange(() => changed.resolve());
    if (!answersIn(database).includes(null)) return stop();
    await changed.promise;
    stop();
  }
}
