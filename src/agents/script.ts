import { type ApprovalOutcome, isYes } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { expectArray, expectObject, usageFromJson } from "../core/json.ts";
import { getText, textPart } from "../core/message.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { ToolOutput } from "../ports/tool.ts";
import { pause } from "../system/pause.ts";
import { awaitUnlessAborted } from "./await-unless-aborted.ts";
import { type AnnouncedCall, announceCall, executeCall } from "./call-tool.ts";
import { runCommand } from "./run-command.ts";
import {
  type CallPiece,
  parsePieces,
  type ScriptPiece,
  type ToolPiece,
  type UsePiece,
} from "./script-pieces.ts";

/** An answer of the script: the pattern of the messages that it answers, and its pieces. */
interface ScriptAnswer {
  readonly to: RegExp;
  readonly say: readonly ScriptPiece[];
  readonly usage?: UsageDelta;
}

/**
 * An agent that answers from a list, for demonstrations and tests: the first answer whose `to` matches the message.
 * `{ "answers": [{ "to": "hello", "say": ["Good ", { "wait_ms": 50 }, "morning"] }] }`
 */
export function script(json: unknown): Agent {
  const { answers: list, window: size, models: names } = expectObject(json, "script");
  const answers = expectArray(list, "answers").map(parseAnswer);
  const window = size === undefined ? undefined : parseWindow(size);
  const models = names === undefined ? undefined : parseModels(names);
  return {
    name: "script",
    ...(window !== undefined && { contextWindow: window }),
    // Without a window of its own, it has none with another model either.
    ...(models !== undefined && { models: async () => models, getContextWindow: () => window ?? 0 }),
    async *run(turn, signal) {
      const { history } = turn;
      const message = getText(history.findLast((message) => message.role === "user") ?? { parts: [] });
      const answer = answers.find(({ to }) => to.test(message));
      if (answer === undefined) {
        yield { type: "failed", reason: "The script has no answer to that." };
        return;
      }
      const run = { turn, message, signal, at: history.at(-1)?.seq ?? 0, calls: 0 };
      yield* runPieces(answer.say, run);
      if (signal.aborted) return;
      if (answer.usage !== undefined) yield { type: "usage", usage: answer.usage };
    },
  };
}

interface ScriptRun {
  readonly turn: AgentTurn;
  readonly message: string;
  readonly signal: AbortSignal;
  /** Together with a count, makes the id of each call unique in the session. */
  readonly at: number;
  calls: number;
}

/** Yields the events of the pieces; returns false if the answer ends here. */
async function* runPieces(
  pieces: readonly ScriptPiece[],
  run: ScriptRun,
): AsyncGenerator<AgentEvent, boolean> {
  for (const piece of pieces) {
    if (run.signal.aborted || !(yield* runPiece(piece, run))) return false;
  }
  return true;
}

async function* runPiece(piece: ScriptPiece, run: ScriptRun): AsyncGenerator<AgentEvent, boolean> {
  switch (piece.does) {
    case "say":
      yield { type: "text", text: piece.text };
      return true;
    case "echo":
      yield { type: "text", text: run.message };
      return true;
    case "think":
      yield { type: "thought", text: piece.text };
      return true;
    case "wait":
      await pause(piece.ms, run.signal);
      return true;
    case "fail":
      yield { type: "failed", reason: piece.reason };
      return false;
    case "hang":
      // Ignores the signal on purpose, to test an agent that breaks its contract.
      return new Promise<never>(() => {});
    case "message":
      yield { type: "message" };
      return true;
    case "plan":
      yield { type: "plan", entries: piece.entries };
      return true;
    case "repeat":
      for (let time = 0; time < piece.times; time += 1) if (!(yield* runPieces(piece.say, run))) return false;
      return true;
    case "approve": {
      const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
      yield { type: "approval", request: piece.request, answer: resolve };
      const outcome = await awaitUnlessAborted(promise, run.signal);
      if (outcome === undefined) return false;
      if (isYes(outcome)) return true;
      yield { type: "text", text: piece.denied };
      return false;
    }
    case "tell":
      yield { type: "text", text: formatSetting(piece.what, run.turn) };
      return true;
    case "together":
      yield* runCalls(piece.calls, run);
      return true;
    case "tool":
    case "use":
      yield* runCalls([piece], run);
      return true;
  }
}

/** Emits all calls first, and then runs them one after the other. A stopped call has no result. */
async function* runCalls(pieces: readonly CallPiece[], run: ScriptRun): AsyncGenerator<AgentEvent, void> {
  const calls: AnnouncedCall[] = [];
  for (const piece of pieces) {
    run.calls += 1;
    const id = `script-${run.at}-${run.calls}`;
    const next =
      piece.does === "use"
        ? yield* announceOfferedTool(piece, id, run)
        : yield* announceOwnTool(piece, id, run);
    if (next === undefined || run.signal.aborted) return;
    calls.push(next);
  }
  for (const next of calls) yield* executeCall(next, run.signal);
}

function announceOfferedTool(
  { name, args }: UsePiece,
  id: string,
  { turn, signal }: ScriptRun,
): AsyncGenerator<AgentEvent, AnnouncedCall | undefined> {
  return announceCall({ id, name, arguments: args }, turn.tools ?? [], signal);
}

async function* announceOwnTool(
  piece: ToolPiece,
  id: string,
  scriptRun: ScriptRun,
): AsyncGenerator<AgentEvent, AnnouncedCall | undefined> {
  const { name, effect, args } = piece;
  const external = effect === "external" ? { effect } : {};
  yield { type: "tool_call", call: { id, name, arguments: args, ...external } };
  return { id, name, isInvalid: false, execute: () => runOwnTool(piece, id, scriptRun) };
}

async function runOwnTool(
  { run, timeoutMs, result }: ToolPiece,
  id: string,
  scriptRun: ScriptRun,
): Promise<ToolOutput> {
  if (run === undefined) return { parts: [textPart(result)] };
  const { turn, message, signal } = scriptRun;
  const [executable, ...args] = run;
  const cwd = turn.cwd === undefined ? {} : { cwd: turn.cwd };
  const end =
    turn.terminal === undefined
      ? await runCommand({ command: run, input: message, timeoutMs, ...cwd }, signal)
      : await turn.terminal.run({ call: id, executable, args, timeoutMs, ...cwd }, signal);
  return { parts: [textPart(end.text)], ...(end.failed && { failed: true }) };
}

function formatSetting(name: "model" | "cwd" | "reasoning", { model, cwd, reasoning }: AgentTurn): string {
  if (name === "model") return model ?? "script";
  return name === "cwd" ? (cwd ?? "none") : (reasoning ?? "default");
}

function parseAnswer(json: unknown, index: number): ScriptAnswer {
  const field = `answers[${index}]`;
  const { to = "", say, usage } = expectObject(json, field);
  return {
    to: parsePattern(to, `${field}.to`),
    say: parsePieces(say, `${field}.say`),
    ...(usage !== undefined && { usage: parseUsage(usage, `${field}.usage`) }),
  };
}

/** The usage of one answer: fields that the script does not name stay as the session has them. */
function parseUsage(json: unknown, field: string): UsageDelta {
  const values = expectObject(json, field);
  try {
    const { lastPromptTokens, costStatus, ...rest } = usageFromJson(values);
    return {
      ...rest,
      ...(values.last_prompt_tokens !== undefined && { lastPromptTokens }),
      ...(values.cost_status !== undefined && { costStatus }),
    };
  } catch (error) {
    throw new PostriderError("invalid_input", `${field}.${(error as Error).message}`, { details: { field } });
  }
}

function parseWindow(value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value);
  throw new PostriderError("invalid_input", "window must be a whole number of tokens.", {
    details: { field: "window" },
  });
}

function parseModels(value: unknown): readonly string[] {
  return expectArray(value, "models").map((name, at) => {
    if (typeof name === "string" && name !== "") return name;
    const field = `models[${at}]`;
    throw new PostriderError("invalid_input", `${field} must be the name of a model.`, {
      details: { field },
    });
  });
}

function parsePattern(to: unknown, field: string): RegExp {
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
