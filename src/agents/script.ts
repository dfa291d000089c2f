import type { ApprovalAnswer } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { asArray, asObject, usageFromJson } from "../core/json.ts";
import { text, textOf } from "../core/message.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import { runCommand } from "./run-command.ts";
import { type Piece, piecesFrom, type ToolPiece } from "./script-pieces.ts";

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
  const { answers: given, window } = asObject(json, "script");
  const answers = asArray(given, "answers").map(answerFrom);
  return {
    name: "script",
    ...(window !== undefined && { window: windowFrom(window) }),
    async *run({ history }, signal) {
      const said = textOf(history.findLast((message) => message.role === "user") ?? { parts: [] });
      const answer = answers.find(({ to }) => to.test(said));
      if (answer === undefined) {
        yield { type: "failed", reason: "The script has no answer to that." };
        return;
      }
      const turn = { said, signal, at: history.at(-1)?.seq ?? 0, calls: 0 };
      yield* perform(answer.say, turn);
      if (signal.aborted) return;
      if (answer.usage !== undefined) yield { type: "usage", usage: answer.usage };
    },
  };
}

interface Performance {
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
      const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
      yield { type: "approval", request: piece.request, answer: resolve };
      const given = await unlessAborted(promise, turn.signal);
      if (turn.signal.aborted) return false;
      if (given !== "deny") return true;
      yield { type: "text", text: piece.denied };
      return false;
    }
    case "tool":
      yield* act(piece, turn);
      return true;
  }
}

/** The call is told, and only then done. A call that is stopped has no result. */
async function* act(piece: ToolPiece, turn: Performance): AsyncGenerator<AgentEvent, void> {
  const { name, effect, run, timeoutMs } = piece;
  turn.calls += 1;
  const id = `script-${turn.at}-${turn.calls}`;
  const external = effect === "external" ? { effect } : {};
  yield { type: "tool_call", call: { id, name, arguments: piece.given, ...external } };
  if (turn.signal.aborted) return;
  const end =
    run === undefined
      ? { text: piece.result, failed: false }
      : await runCommand({ command: run, input: turn.said, timeoutMs }, turn.signal);
  if (turn.signal.aborted) return;
  const failed = end.failed ? { failed: true as const } : {};
  yield { type: "tool_result", id, name, parts: [text(end.text)], ...failed };
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

/** A denial when nobody waits for the answer any more. */
function unlessAborted(answer: Promise<ApprovalAnswer>, signal: AbortSignal): Promise<ApprovalAnswer> {
  if (signal.aborted) return Promise.resolve("deny");
  const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
  const stop = (): void => resolve("deny");
  signal.addEventListener("abort", stop, { once: true });
  return Promise.race([answer, promise]).finally(() => signal.removeEventListener("abort", stop));
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
