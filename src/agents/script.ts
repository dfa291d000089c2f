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

/** An answer of the script: what it is given to, and what is said and done, piece by piece. */
interface ScriptAnswer {
  readonly to: RegExp;
  readonly say: readonly ScriptPiece[];
  readonly usage?: UsageDelta;
}

/**
 * An agent that answers from a list, for demonstrations and tests: the first answer whose `to` is found in what was
 * said. `{ "answers": [{ "to": "hello", "say": ["Good ", { "wait_ms": 50 }, "morning"] }] }`
 */
export function script(json: unknown): Agent {
  const { answers: given, window: size, models: names } = expectObject(json, "script");
  const answers = expectArray(given, "answers").map(parseAnswer);
  const window = size === undefined ? undefined : parseWindow(size);
  const models = names === undefined ? undefined : parseModels(names);
  return {
    name: "script",
    ...(window !== undefined && { contextWindow: window }),
    // Without a window of its own it has none with another model either.
    ...(models !== undefined && { models: async () => models, getContextWindow: () => window ?? 0 }),
    async *run(asked, signal) {
      const { history } = asked;
      const said = getText(history.findLast((message) => message.role === "user") ?? { parts: [] });
      const answer = answers.find(({ to }) => to.test(said));
      if (answer === undefined) {
        yield { type: "failed", reason: "The script has no answer to that." };
        return;
      }
      const turn = { asked, said, signal, at: history.at(-1)?.seq ?? 0, calls: 0 };
      yield* runPieces(answer.say, turn);
      if (signal.aborted) return;
      if (answer.usage !== undefined) yield { type: "usage", usage: answer.usage };
    },
  };
}

interface ScriptRun {
  readonly asked: AgentTurn;
  readonly said: string;
  readonly signal: AbortSignal;
  /** With a count, what makes a call's id unlike every other in the session. */
  readonly at: number;
  calls: number;
}

/** False when the answer ends here. */
async function* runPieces(
  pieces: readonly ScriptPiece[],
  turn: ScriptRun,
): AsyncGenerator<AgentEvent, boolean> {
  for (const piece of pieces) {
    if (turn.signal.aborted || !(yield* runPiece(piece, turn))) return false;
  }
  return true;
}

async function* runPiece(piece: ScriptPiece, turn: ScriptRun): AsyncGenerator<AgentEvent, boolean> {
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
      for (let time = 0; time < piece.times; time += 1)
        if (!(yield* runPieces(piece.say, turn))) return false;
      return true;
    case "approve": {
      const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
      yield { type: "approval", request: piece.request, answer: resolve };
      const given = await awaitUnlessAborted(promise, turn.signal);
      if (given === undefined) return false;
      if (isYes(given)) return true;
      yield { type: "text", text: piece.denied };
      return false;
    }
    case "tell":
      yield { type: "text", text: formatSetting(piece.what, turn.asked) };
      return true;
    case "together":
      yield* runCalls(piece.calls, turn);
      return true;
    case "tool":
    case "use":
      yield* runCalls([piece], turn);
      return true;
  }
}

/** The calls are told, all of them, and only then done, one after the other. What is stopped has no result. */
async function* runCalls(pieces: readonly CallPiece[], turn: ScriptRun): AsyncGenerator<AgentEvent, void> {
  const calls: AnnouncedCall[] = [];
  for (const piece of pieces) {
    turn.calls += 1;
    const id = `script-${turn.at}-${turn.calls}`;
    const next =
      piece.does === "use"
        ? yield* announceOfferedTool(piece, id, turn)
        : yield* announceOwnTool(piece, id, turn);
    if (next === undefined || turn.signal.aborted) return;
    calls.push(next);
  }
  for (const next of calls) yield* executeCall(next, turn.signal);
}

function announceOfferedTool(
  { name, args }: UsePiece,
  id: string,
  { asked, signal }: ScriptRun,
): AsyncGenerator<AgentEvent, AnnouncedCall | undefined> {
  return announceCall({ id, name, arguments: args }, asked.tools ?? [], signal);
}

async function* announceOwnTool(
  piece: ToolPiece,
  id: string,
  turn: ScriptRun,
): AsyncGenerator<AgentEvent, AnnouncedCall | undefined> {
  const { name, effect, args } = piece;
  const external = effect === "external" ? { effect } : {};
  yield { type: "tool_call", call: { id, name, arguments: args, ...external } };
  return { id, name, isInvalid: false, execute: () => runOwnTool(piece, id, turn) };
}

async function runOwnTool(
  { run, timeoutMs, result }: ToolPiece,
  id: string,
  turn: ScriptRun,
): Promise<ToolOutput> {
  if (run === undefined) return { parts: [textPart(result)] };
  const { asked, said, signal } = turn;
  const [program, ...args] = run;
  const cwd = asked.cwd === undefined ? {} : { cwd: asked.cwd };
  const end =
    asked.terminal === undefined
      ? await runCommand({ command: run, input: said, timeoutMs, ...cwd }, signal)
      : await asked.terminal.run({ call: id, executable: program, args, timeoutMs, ...cwd }, signal);
  return { parts: [textPart(end.text)], ...(end.failed && { failed: true }) };
}

function formatSetting(what: "model" | "cwd" | "reasoning", { model, cwd, reasoning }: AgentTurn): string {
  if (what === "model") return model ?? "script";
  return what === "cwd" ? (cwd ?? "none") : (reasoning ?? "default");
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

/** What one answer adds: what the script does not name stays as the session has it. */
function parseUsage(json: unknown, field: string): UsageDelta {
  const given = expectObject(json, field);
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
