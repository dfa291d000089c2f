import { type ApprovalOutcome, isYes } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { asArray, asObject, usageFromJson } from "../core/json.ts";
import { text, textOf } from "../core/message.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { carryOut, type ToldCall, tellCall } from "./call-tool.ts";
import { runCommand } from "./run-command.ts";
import { type CallPiece, type Piece, piecesFrom, type ToolPiece, type UsePiece } from "./script-pieces.ts";
import { untilAborted } from "./until-aborted.ts";

/** An answer of the script: what it is given to, and what is said and done, piece by piece. */
interface Answer {
  readonly to: RegExp;
  readonly say: readonly Piece[];
  readonly usage?: UsageDelta;
}

/**
 * An agent that answers from a list, for demonstrations and tests: the first answer whose `to` is found in what was
 * said. `{ "answers": [{ "to": "hello", "say": ["Good ", { "wait_ms": 50 }, "morning"] }] }`
 */
export function script(json: unknown): Agent {
  const { answers: given, window: size, models: names } = asObject(json, "script");
  const answers = asArray(given, "answers").map(answerFrom);
  const window = size === undefined ? undefined : windowFrom(size);
  const models = names === undefined ? undefined : modelsFrom(names);
  return {
    name: "script",
    ...(window !== undefined && { window }),
    // Without a window of its own it has none with another model either.
    ...(models !== undefined && { models: async () => models, windowOf: () => window ?? 0 }),
    async *run(asked, signal) {
      const { history } = asked;
      const said = textOf(history.findLast((message) => message.role === "user") ?? { parts: [] });
      const answer = answers.find(({ to }) => to.test(said));
      if (answer === undefined) {
        yield { type: "failed", reason: "The script has no answer to that." };
        return;
      }
      const turn = { asked, said, signal, at: history.at(-1)?.seq ?? 0, calls: 0 };
      yield* perform(answer.say, turn);
      if (signal.aborted) return;
      if (answer.usage !== undefined) yield { type: "usage", usage: answer.usage };
    },
  };
}

interface Performance {
  readonly asked: AgentTurn;
  readonly said: string;
  readonly signal: AbortSignal;
  /** With a count, what makes a call's id unlike every other in the session. */
  readonly at: number;
  calls: number;
}

/** False when the answer ends here. */
async function* perform(pieces: readonly Piece[], turn: Performance): AsyncGenerator<AgentEvent, boolean> {
  for (const piece of pieces) {
    if (turn.signal.aborted || !(yield* performOne(piece, turn))) return false;
  }
  return true;
}

async function* performOne(piece: Piece, turn: Performance): AsyncGenerator<AgentEvent, boolean> {
  switch (piece.does) {
    case "say":
      yield { type: "text", text: piece.text };
      return true;
    case "echo":
      yield { type: "text", text: turn.said };
      return true;
    case "think":
      yield { type: "thought", text: piece.text };
      return true;
    case "wait":
      await pause(piece.ms, turn.signal);
      return true;
    case "fail":
      yield { type: "failed", reason: piece.reason };
      return false;
    case "hang":
      // On purpose deaf: for trying out what becomes of an agent that breaks its promise.
      return new Promise<never>(() => {});
    case "message":
      yield { type: "message" };
      return true;
    case "plan":
      yield { type: "plan", entries: piece.entries };
      return true;
    case "repeat":
      for (let time = 0; time < piece.times; time += 1) if (!(yield* perform(piece.say, turn))) return false;
      return true;
    case "approve": {
      const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
      yield { type: "approval", request: piece.request, answer: resolve };
      const given = await untilAborted(promise, turn.signal);
      if (given === undefined) return false;
      if (isYes(given)) return true;
      yield { type: "text", text: piece.denied };
      return false;
    }
    case "tell":
      yield { type: "text", text: told(piece.what, turn.asked) };
      return true;
    case "together":
      yield* call(piece.calls, turn);
      return true;
    case "tool":
    case "use":
      yield* call([piece], turn);
      return true;
  }
}

/** The calls are told, all of them, and only then done, one after the other. What is stopped has no result. */
async function* call(pieces: readonly CallPiece[], turn: Performance): AsyncGenerator<AgentEvent, void> {
  const calls: ToldCall[] = [];
  for (const piece of pieces) {
    turn.calls += 1;
    const id = `script-${turn.at}-${turn.calls}`;
    const next = piece.does === "use" ? yield* offered(piece, id, turn) : yield* ours(piece, id, turn);
    if (next === undefined || turn.signal.aborted) return;
    calls.push(next);
  }
  for (const next of calls) yield* carryOut(next, turn.signal);
}

function offered(
  { name, given }: UsePiece,
  id: string,
  { asked, signal }: Performance,
): AsyncGenerator<AgentEvent, ToldCall | undefined> {
  return tellCall({ id, name, arguments: given }, asked.tools ?? [], signal);
}

async function* ours(
  piece: ToolPiece,
  id: string,
  turn: Performance,
): AsyncGenerator<AgentEvent, ToldCall | undefined> {
  const { name, effect, given } = piece;
  const external = effect === "external" ? { effect } : {};
  yield { type: "tool_call", call: { id, name, arguments: given, ...external } };
  return { id, name, isWrong: false, act: () => act(piece, id, turn) };
}

async function act(
  { run, timeoutMs, result }: ToolPiece,
  id: string,
  turn: Performance,
): Promise<ToolOutput> {
  if (run === undefined) return { parts: [text(result)] };
  const { asked, said, signal } = turn;
  const [program, ...args] = run;
  const cwd = asked.cwd === undefined ? {} : { cwd: asked.cwd };
  const end =
    asked.terminal === undefined
      ? await runCommand({ command: run, input: said, timeoutMs, ...cwd }, signal)
      : await asked.terminal.run({ call: id, program, args, timeoutMs, ...cwd }, signal);
  return { parts: [text(end.text)], ...(end.failed && { failed: true }) };
}

function told(what: "model" | "cwd" | "reasoning", { model, cwd, reasoning }: AgentTurn): string {
  if (what === "model") return model ?? "script";
  return what === "cwd" ? (cwd ?? "none") : (reasoning ?? "default");
}

function answerFrom(json: unknown, index: number): Answer {
  const field = `answers[${index}]`;
  const { to = "", say, usage } = asObject(json, field);
  return {
    to: pattern(to, `${field}.to`),
    say: piecesFrom(say, `${field}.say`),
    ...(usage !== undefined && { usage: usageFrom(usage, `${field}.usage`) }),
  };
}

/** What one answer adds: what the script does not name stays as the session has it. */
function usageFrom(json: unknown, field: string): UsageDelta {
  const given = asObject(json, field);
  try {
    const { lastPromptTokens, costStatus, ...rest } = usageFromJson(given);
    return {
      ...rest,
      ...(given.last_prompt_tokens !== undefined && { lastPromptTokens }),
      ...(given.cost_status !== undefined && { costStatus }),
    };
  } catch (error) {
    throw new PostriderError("invalid_input", `${field}.${(error as Error).message}`, { details: { field } });
  }
}

function windowFrom(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
  throw new PostriderError("invalid_input", "window must be a whole number of tokens.", {
    details: { field: "window" },
  });
}

function modelsFrom(value: unknown): readonly string[] {
  return asArray(value, "models").map((name, at) => {
    if (typeof name === "string" && name !== "") return name;
    const field = `models[${at}]`;
    throw new PostriderError("invalid_input", `${field} must be the name of a model.`, {
      details: { field },
    });
  });
}

function pattern(to: unknown, field: string): RegExp {
  if (typeof to !== "string")
    throw new PostriderError("invalid_input", `${field} must be a text.`, { details: { field } });
  try {
    return new RegExp(to, "iu");
  } catch (error) {
    throw new PostriderError("invalid_input", `${field} is not a pattern: ${(error as Error).message}.`, {
      details: { field },
    });
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
