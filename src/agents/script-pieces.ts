import type { ApprovalRequest } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { expectArray, expectObject, type JsonObject } from "../core/json.ts";
import type { PlanEntry } from "../core/turn.ts";

/** The maximum of a timer, more than three weeks. */
const MAX_WAIT_MS = 2 ** 31 - 1;
const MAX_REPEATS = 1_000_000;
const TOOL_TIMEOUT_MS = 30_000;

/** One step of an answer. */
export type ScriptPiece =
  | { readonly does: "say"; readonly text: string }
  | { readonly does: "echo" }
  | { readonly does: "think"; readonly text: string }
  | { readonly does: "wait"; readonly ms: number }
  | { readonly does: "fail"; readonly reason: string }
  | { readonly does: "hang" }
  | { readonly does: "message" }
  | { readonly does: "plan"; readonly entries: readonly PlanEntry[] }
  | { readonly does: "approve"; readonly request: ApprovalRequest; readonly denied: string }
  | { readonly does: "repeat"; readonly times: number; readonly say: readonly ScriptPiece[] }
  | { readonly does: "tell"; readonly what: "model" | "cwd" | "reasoning" }
  | { readonly does: "together"; readonly calls: readonly CallPiece[] }
  | CallPiece;

export type CallPiece = ToolPiece | UsePiece;

/** A call of a tool that the script itself defines. */
export interface ToolPiece {
  readonly does: "tool";
  readonly name: string;
  readonly args: unknown;
  readonly effect: "external" | "none";
  /** The executable that is run, and its arguments. */
  readonly run?: readonly [string, ...string[]];
  readonly timeoutMs: number;
  /** The result if nothing is run. */
  readonly result: string;
}

/** A call of a tool that the turn offers. */
export interface UsePiece {
  readonly does: "use";
  readonly name: string;
  readonly args: unknown;
}

/** The pieces of an answer: a text alone, or a list. */
export function parsePieces(json: unknown, field: string): readonly ScriptPiece[] {
  if (typeof json === "string") return [{ does: "say", text: json }];
  return expectArray(json, field).map((piece, at) => parsePiece(piece, `${field}[${at}]`));
}

/** Each kind of piece, by the key that identifies it, and the keys that it may have besides. */
const KINDS: Readonly<
  Record<string, { readonly with?: readonly string[]; from(piece: JsonObject, field: string): ScriptPiece }>
> = {
  wait_ms: { from: (piece, field) => ({ does: "wait", ms: parseMs(piece.wait_ms, `${field}.wait_ms`) }) },
  fail: {
    from: (piece, field) => ({ does: "fail", reason: parseNonEmptyText(piece.fail, `${field}.fail`) }),
  },
  think: {
    from: (piece, field) => ({ does: "think", text: parseNonEmptyText(piece.think, `${field}.think`) }),
  },
  echo: { from: (piece, field) => ({ does: parseFlag(piece.echo, "echo", `${field}.echo`) }) },
  message: { from: (piece, field) => ({ does: parseFlag(piece.message, "message", `${field}.message`) }) },
  hang: { from: (piece, field) => ({ does: parseFlag(piece.hang, "hang", `${field}.hang`) }) },
  model: {
    from: (piece, field) => ({ does: "tell", what: parseFlag(piece.model, "model", `${field}.model`) }),
  },
  cwd: { from: (piece, field) => ({ does: "tell", what: parseFlag(piece.cwd, "cwd", `${field}.cwd`) }) },
  reasoning: {
    from: (piece, field) => ({
      does: "tell",
      what: parseFlag(piece.reasoning, "reasoning", `${field}.reasoning`),
    }),
  },
  plan: {
    from: ({ plan }, field) => ({
      does: "plan",
      entries: expectArray(plan, `${field}.plan`).map((entry, at) =>
        parsePlanEntry(entry, `${field}.plan[${at}]`),
      ),
    }),
  },
  approve: { with: ["denied"], from: parseApproval },
  repeat: { with: ["say"], from: parseRepeat },
  tool: { with: ["arguments", "effect", "run", "timeout_ms", "result"], from: parseTool },
  use: {
    with: ["arguments"],
    from: (piece, field) => ({
      does: "use",
      name: parseNonEmptyText(piece.use, `${field}.use`),
      args: piece.arguments ?? {},
    }),
  },
  together: { from: parseTogether },
};

function parsePiece(json: unknown, field: string): ScriptPiece {
  if (typeof json === "string") return { does: "say", text: json };
  const piece = expectObject(json, field);
  const name = Object.keys(KINDS).find((known) => piece[known] !== undefined);
  const kind = name === undefined ? undefined : KINDS[name];
  if (name === undefined || kind === undefined)
    throw createInputError(field, `must be a text or an object with one of ${Object.keys(KINDS).join(", ")}`);
  const unknown = Object.keys(piece).find((other) => other !== name && !kind.with?.includes(other));
  if (unknown !== undefined)
    throw createInputError(`${field}.${unknown}`, `does not belong to a piece with ${name}`);
  return kind.from(piece, field);
}

function parsePlanEntry(json: unknown, field: string): PlanEntry {
  if (typeof json === "string") return { text: parseNonEmptyText(json, field), state: "pending" };
  const { text, state = "pending" } = expectObject(json, field);
  const known = (["pending", "in_progress", "completed"] as const).find((name) => name === state);
  if (known === undefined)
    throw createInputError(`${field}.state`, "must be pending, in_progress or completed");
  return { text: parseNonEmptyText(text, `${field}.text`), state: known };
}

function parseApproval({ approve, denied }: JsonObject, field: string): ScriptPiece {
  const at = `${field}.approve`;
  const { title, detail, pattern } = expectObject(approve, at);
  const request = {
    title: parseNonEmptyText(title, `${at}.title`),
    ...(detail !== undefined && { detail: parseNonEmptyText(detail, `${at}.detail`) }),
    ...(pattern !== undefined && { pattern: parseNonEmptyText(pattern, `${at}.pattern`) }),
  };
  return {
    does: "approve",
    request,
    denied:
      denied === undefined ? `I was not allowed to: ${request.title}` : parseText(denied, `${field}.denied`),
  };
}

function parseRepeat({ repeat, say }: JsonObject, field: string): ScriptPiece {
  if (!Number.isSafeInteger(repeat) || Number(repeat) < 1 || Number(repeat) > MAX_REPEATS)
    throw createInputError(`${field}.repeat`, `must be a whole number from 1 to ${MAX_REPEATS}`);
  return { does: "repeat", times: Number(repeat), say: parsePieces(say, `${field}.say`) };
}

function parseTogether({ together }: JsonObject, field: string): ScriptPiece {
  const calls = expectArray(together, `${field}.together`).map((json, at) => {
    const inside = `${field}.together[${at}]`;
    const piece = parsePiece(json, inside);
    if (piece.does === "tool" || piece.does === "use") return piece;
    throw createInputError(inside, "must be a piece with tool or use");
  });
  if (calls.length === 0) throw createInputError(`${field}.together`, "must be a list of calls");
  return { does: "together", calls };
}

function parseTool(piece: JsonObject, field: string): ScriptPiece {
  const { run, effect = run === undefined ? "none" : "external", timeout_ms: timeout, result } = piece;
  if (effect !== "external" && effect !== "none")
    throw createInputError(`${field}.effect`, "must be external or none");
  if (run !== undefined && result !== undefined)
    throw createInputError(
      `${field}.result`,
      "does not belong to a tool that is run: its output is the result",
    );
  return {
    does: "tool",
    name: parseNonEmptyText(piece.tool, `${field}.tool`),
    args: piece.arguments ?? {},
    effect,
    ...(run !== undefined && { run: parseArgv(run, `${field}.run`) }),
    timeoutMs: timeout === undefined ? TOOL_TIMEOUT_MS : parseMs(timeout, `${field}.timeout_ms`),
    result: result === undefined ? "done" : parseText(result, `${field}.result`),
  };
}

function parseArgv(json: unknown, field: string): readonly [string, ...string[]] {
  const [executable, ...args] = expectArray(json, field);
  if (typeof executable !== "string" || executable === "")
    throw createInputError(field, "must start with the name of an executable");
  return [executable, ...args.map((arg, at) => parseText(arg, `${field}[${at + 1}]`))];
}

function parseMs(value: unknown, field: string): number {
  if (typeof value === "number" && value >= 0 && value <= MAX_WAIT_MS) return value;
  throw createInputError(field, `must be a number of milliseconds from 0 to ${MAX_WAIT_MS}`);
}

function parseFlag<Name extends string>(value: unknown, name: Name, field: string): Name {
  if (value === true) return name;
  throw createInputError(field, "must be true");
}

function parseNonEmptyText(value: unknown, field: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw createInputError(field, "must be a text that is not empty");
}

function parseText(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw createInputError(field, "must be a text");
}

function createInputError(field: string, problem: string): PostriderError {
  return new PostriderError("invalid_input", `${field} ${problem}.`, { details: { field } });
}
