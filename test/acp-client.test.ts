import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { createSessions, OWNER, sqliteStore, systemClock } from "../src/index.ts";
import { type Acpx, type AcpxOptions, openAcpx } from "./acp/acpx.ts";
import { linesOf, saidIn, type Tapped, type WireMessage } from "./acp/wire.ts";
import { look } from "./support/database.ts";
import { type Asked, type ModelServer, type Reply, startModelServer } from "./support/model-endpoint.ts";
import { runProgram, startProgram } from "./support/program.ts";
import { isProof } from "./support/schedule.ts";

/** With a model that gives these answers and records its requests. */
async function withModel(
  context: TestContext,
  replies: readonly Reply[],
  tap?: AcpxOptions["tap"],
): Promise<{ acpx: Acpx; server: ModelServer; environment: NodeJS.ProcessEnv }> {
  const server = await startModelServer(...replies);
  context.onTestFinished(() => server.close());
  const environment = {
    ANTHROPIC_API_KEY: undefined,
    OPENAI_API_KEY: undefined,
    GEMINI_API_KEY: undefined,
    OPENROUTER_API_KEY: undefined,
    POSTRIDER_BASE_URL: server.url,
    POSTRIDER_MODEL: "tiny",
  };
  const acpx = openAcpx(context, { agent: "model", environment, ...(tap !== undefined && { tap }) });
  return { acpx, server, environment };
}

/** The messages of the last model request, without the system prompt. */
function lastRead({ requests }: ModelServer): string[] {
  const messages: Asked["messages"] = requests.at(-1)?.body.messages ?? [];
  return messages.slice(1).map(({ role, content }) => `${role}: ${content}`);
}

function sessionIn(wire: readonly WireMessage[]): string {
  const id = wire.find(({ result }) => result?.sessionId !== undefined)?.result?.sessionId;
  if (id === undefined) throw new Error("no session was made");
  return id;
}

const methodsIn = (wire: readonly WireMessage[]): (string | undefined)[] =>
  wire.map(({ method }) => method).filter((method) => method !== undefined);
const stopReasonIn = (wire: readonly WireMessage[]): string | undefined =>
  wire.findLast(({ result }) => result?.stopReason !== undefined)?.result?.stopReason;

/** The answer to this request. */
function answerTo(request: Tapped | undefined, wire: readonly Tapped[]): WireMessage | undefined {
  const id = request?.message.id;
  const isAnswer = ({ by, message }: Tapped): boolean => by === "agent" && message.id === id;
  return id === undefined ? undefined : wire.slice(wire.indexOf(request as Tapped)).find(isAnswer)?.message;
}

/** How often the tool of the script ran. */
function timesDone({ folder }: Acpx): number {
  const file = join(folder, "done.txt");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}

// Run concurrently, because each mostly waits.
describe.concurrent("a client by other authors", { timeout: 120_000 }, () => {
  it.runIf(isProof)(
    "answers the second prompt of a session with the context of the first",
    async (context) => {
      const { acpx, server } = await withModel(context, [
        { say: ["Good ", "morning"] },
        { say: ["As I said"] },
      ]);
      expect(await acpx.begin("a")).toMatch(/^[0-9a-f-]{36}$/);
      const first = await acpx.wire("prompt", "-s", "a", "hello");
      expect([saidIn(first), stopReasonIn(first)]).toEqual(["Good morning", "end_turn"]);
      const second = await acpx.wire("prompt", "-s", "a", "and again");
      expect([saidIn(second), stopReasonIn(second)]).toEqual(["As I said", "end_turn"]);
      expect(lastRead(server)).toEqual(["user: hello", "assistant: Good morning", "user: and again"]);
      expect(await acpx.read("a")).toEqual([
        "user: hello",
        "assistant: Good morning",
        "user: and again",
        "assistant: As I said",
      ]);
    },
  );

  it("continues after the agent process is killed, between two answers and during one", async (context) => {
    const replies = [{ say: ["Good morning"] }, { say: ["Once upon "], hang: true }, { say: ["The end"] }];
    const { acpx, server } = await withModel(context, replies, "as-it-is");
    await acpx.begin("a");
    await acpx.wire("prompt", "-s", "a", "hello");
    await acpx.killAgent();
    const cut = acpx.start("prompt", "-s", "a", "a story");
    await cut.printed("Once upon");
    expect(lastRead(server)).toEqual(["user: hello", "assistant: Good morning", "user: a story"]);
    await acpx.killAgent();
    expect((await cut.ended).code).toBe(1);
    const before = acpx.tapped().length;

    expect(saidIn(await acpx.wire("prompt", "-s", "a", "go on"))).toBe("The end");
    const wire = acpx
      .tapped()
      .slice(before)
      .map(({ message }) => message);
    expect(methodsIn(wire)).toContain("session/resume");
    expect(saidIn(wire)).toBe("The end"); // acpx gets no message a second time
    expect(lastRead(server)).toEqual([
      "user: hello",
      "assistant: Good morning",
      "user: a story",
      expect.stringContaining("assistant: Once upon"),
      "user: go on",
    ]);
    expect(await acpx.read("a")).toEqual([
      "user: hello",
      "assistant: Good morning",
      "user: a story",
      "assistant: Once upon",
      "user: go on",
      "assistant: The end",
    ]);
  });

  it.runIf(isProof)(
    "loads every message once after the agent process is killed during an answer",
    async (context) => {
      const acpx = openAcpx(context, { tap: "without-resume" });
      await acpx.begin("a");
      await acpx.wire("prompt", "-s", "a", "hello");
      const cut = acpx.start("prompt", "-s", "a", "story");
      await cut.printed("Once");
      await acpx.killAgent();
      await cut.ended;
      const before = acpx.tapped().length;

      expect(saidIn(await acpx.wire("prompt", "-s", "a", "again"))).toBe("You said: again");
      const wire = acpx.tapped().slice(before);
      const load = wire.find(({ message }) => message.method === "session/load");
      const replayed = wire.slice(
        0,
        wire.findIndex(({ message }) => message === answerTo(load, wire)),
      );
      expect(saidIn(replayed.map(({ message }) => message))).toBe(
        "\n> hello\nYou said: hello\n> story\nOnce \n\n_(stopped)_\n\n",
      );
      expect(await acpx.read("a")).toEqual([
        "user: hello",
        "assistant: You said: hello",
        "user: story",
        "assistant: Once",
        "user: again",
        "assistant: You said: again",
      ]);
    },
  );

  it.runIf(isProof)(
    "lists editor sessions page by page, newest first, and those of one folder",
    async (context) => {
      const acpx = openAcpx(context);
      const elsewhere = join(acpx.folder, "elsewhere");
      const ids = await filled(acpx, 60, (at) => (at % 20 === 7 ? elsewhere : acpx.folder));

      const first = listed(await acpx.wire("sessions", "list"));
      const second = listed(await acpx.wire("sessions", "list", "--cursor", first.nextCursor ?? ""));
      expect([first.sessions.length, second.sessions.length]).toEqual([50, 10]);
      expect([...first.sessions, ...second.sessions].map(({ sessionId }) => sessionId)).toEqual(ids);
      expect(second.nextCursor).toBeUndefined();

      const there = listed(await acpx.wire("sessions", "list", "--filter-cwd", elsewhere));
      expect(there.nextCursor).toBeUndefined();
      expect(there.sessions).toEqual(
        ids
          .filter((_, at) => (59 - at) % 20 === 7)
          .map((sessionId) => expect.objectContaining({ sessionId, cwd: elsewhere })),
      );
    },
  );

  it("cancels an answer, keeps its partial text, and answers the next prompt", async (context) => {
    const acpx = openAcpx(context);
    await acpx.begin("a");
    const running = acpx.start("prompt", "-s", "a", "story");
    await running.printed("Once");
    expect(await acpx.done("cancel", "-s", "a")).toBe("cancel requested\n");
    expect(await running.ended).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Once \n\n\[done\] cancelled\n$/),
    });

    const after = await acpx.wire("prompt", "-s", "a", "hello");
    expect([saidIn(after), stopReasonIn(after)]).toEqual(["You said: hello", "end_turn"]);
    expect(stored(acpx)).toEqual(["story", "Once  (interrupted)", "hello", "You said: hello"]);
  });

  it.runIf(isProof)("closes a session and resumes it by its id", async (context) => {
    const acpx = openAcpx(context, { tap: "as-it-is" });
    const id = await acpx.begin("a");
    await acpx.wire("prompt", "-s", "a", "hello");
    expect(await acpx.done("sessions", "close", "a")).toBe(`${id}\n`);
    const wire = acpx.tapped();
    const close = wire.find(({ message }) => message.method === "session/close");
    expect(close?.message.params).toEqual({ sessionId: id });
    expect(answerTo(close, wire)).toMatchObject({ result: {} });

    expect(await acpx.begin("b", id)).toBe(id);
    expect(saidIn(await acpx.wire("prompt", "-s", "b", "again"))).toBe("You said: again");
    expect(stored(acpx)).toEqual(["hello", "You said: hello", "again", "You said: again"]);
  });

  it.runIf(isProof)("sets the model of all later answers", async (context) => {
    const acpx = openAcpx(context);
    await acpx.begin("a");
    expect(saidIn(await acpx.wire("prompt", "-s", "a", "model?"))).toBe("I am script");
    expect(await acpx.done("set", "-s", "a", "model", "m2")).toBe("model set: m2\n");
    expect(saidIn(await acpx.wire("prompt", "-s", "a", "model?"))).toBe("I am m2");
  });

  it.runIf(isProof)("starts with the model of its configuration", async (context) => {
    const wire = await openAcpx(context).wire("--model", "m2", "exec", "model?");
    expect(saidIn(wire)).toBe("I am m2");
  });

  it.runIf(isProof)(
    "has a mode that denies everything and one that allows everything, both without a question",
    async (context) => {
      const acpx = openAcpx(context);
      await acpx.begin("a");
      const asked = (mode: string, answer: string): Promise<readonly WireMessage[]> =>
        acpx
          .done("--no-terminal", "set-mode", "-s", "a", mode)
          .then(() => acpx.wire("--no-terminal", answer, "prompt", "-s", "a", "write"));

      const denied = await asked("deny", "--approve-all");
      expect([saidIn(denied), timesDone(acpx)]).toEqual(["Then not.", 0]);
      const allowed = await asked("allow", "--deny-all");
      expect([saidIn(allowed), timesDone(acpx)]).toEqual(["Written.", 1]);
      expect(methodsIn([...denied, ...allowed])).not.toContain("session/request_permission");
    },
  );

  it("is asked before an action, which runs once if allowed", async (context) => {
    const acpx = openAcpx(context);
    const wire = await acpx.wire("--approve-all", "exec", "write");
    expect(methodsIn(wire)).toContain("session/request_permission");
    expect([saidIn(wire), timesDone(acpx)]).toEqual(["Written.", 1]);
  });

  it.runIf(isProof)("is asked before an action, which does not run if denied", async (context) => {
    const acpx = openAcpx(context);
    const { code, out } = await acpx.run("--format", "json", "--deny-all", "exec", "write");
    const wire = linesOf<WireMessage>(out);
    expect(methodsIn(wire)).toContain("session/request_permission");
    expect([saidIn(wire), timesDone(acpx)]).toEqual(["Then not.", 0]);
    expect(code).toBe(5); // the mark of acpx for a denied action
  });

  it.runIf(isProof)(
    "runs the agent's commands in its own terminal and returns their output",
    async (context) => {
      const acpx = openAcpx(context);
      const run = acpx.start("--approve-all", "exec", "where");
      const { code, out } = await run.ended;
      expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("Seen.") });
      const printed = `started by ${run.pid} in\n${acpx.folder}\n`;
      expect(stored(acpx)).toEqual(["where", "(calls where)", printed, "Seen."]);
    },
  );

  it.runIf(isProof)("gets an error for an unknown session", async (context) => {
    const acpx = openAcpx(context);
    const unknown = "11111111-1111-4111-8111-111111111111";
    const end = await acpx.run("--format", "json", "sessions", "new", "--resume-session", unknown);
    expect(end.code).toBe(4);
    expect(JSON.parse(end.out).error).toMatchObject({
      code: -32002,
      message: `There is no session ${unknown} here.`,
      data: { code: "not_found" },
    });
  });

  it.runIf(isProof)(
    "shares its sessions with the terminal, which finds, shows and continues them",
    async (context) => {
      const replies = ["The lighthouse stands", "It is white", "It is old", "It is tall"];
      const { acpx, server, environment } = await withModel(
        context,
        replies.map((text) => ({ say: [text] })),
      );
      const { home } = acpx;
      const id = sessionIn(await acpx.wire("exec", "where is it?"));

      const found = await runProgram(home, "sessions", "search", "lighthouse", "--json");
      expect(JSON.parse(found.out).hits).toMatchObject([{ session: id, role: "assistant" }]);
      const show = await runProgram(home, "sessions", "show", id);
      expect(show.out).toMatch(/where is it\?[\s\S]*The lighthouse stands/);

      const handle = look(acpx.database, (db) =>
        db.prepare("select handle from sessions where id = ?").pluck().get(id),
      );
      const piped = async (args: readonly string[], lines: readonly string[]): Promise<string> => {
        const program = startProgram(home, ["--agent", "model", ...args], environment);
        program.say(lines);
        program.endInput();
        const { code, out, err } = await program.ended;
        expect({ code, err }).toMatchObject({ code: 0 });
        return out;
      };
      expect(await piped(["--resume", String(handle)], ["which colour?"])).toContain("It is white");
      expect(await piped([], ["/new", `/resume ${handle}`, "since when?"])).toContain("It is old");

      await acpx.begin("a", id);
      expect(saidIn(await acpx.wire("prompt", "-s", "a", "how tall?"))).toBe("It is tall");
      expect(lastRead(server)).toEqual([
        "user: where is it?",
        "assistant: The lighthouse stands",
        "user: which colour?",
        "assistant: It is white",
        "user: since when?",
        "assistant: It is old",
        "user: how tall?",
      ]);
    },
  );
});

/** Creates sessions of an editor and one of the terminal. Returns the editor's ids, newest first. */
async function filled(
  { home, database }: Acpx,
  count: number,
  folderOf: (at: number) => string,
): Promise<readonly string[]> {
  mkdirSync(home, { mode: 0o700 });
  let now = systemClock.now() - 1_000_000;
  const store = await sqliteStore({ file: database, mode: "in-process" });
  const sessions = createSessions({ store, clock: { ...systemClock, now: () => now++ } });
  const ids: string[] = [];
  try {
    for (let at = 0; at < count; at += 1) {
      const session = { kind: "editor", title: `number ${at}`, cwd: folderOf(at) } as const;
      const { id } = await sessions.create({ person: OWNER }, session);
      ids.unshift(id);
    }
    await sessions.create({ person: OWNER }, { cwd: folderOf(0) });
  } finally {
    await store.close();
  }
  return ids;
}

interface Page {
  readonly sessions: readonly { readonly sessionId: string; readonly cwd: string }[];
  readonly nextCursor?: string;
}

function listed([page]: readonly unknown[]): Page {
  return page as Page;
}

/** All stored messages, in order. */
function stored({ database }: Acpx): string[] {
  const rows = look(database, (db) => db.prepare("select text, meta from messages order by id").all());
  return (rows as { text: string | null; meta: string | null }[]).map(({ text, meta }) => {
    const { origin, toolCalls } = JSON.parse(meta ?? "{}");
    if (toolCalls !== undefined) return `(calls ${toolCalls[0].name})`;
    return `${text}${origin?.interrupted ? " (interrupted)" : ""}`;
  });
}
