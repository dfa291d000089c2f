import type { ApprovalRequest } from "../core/approval.ts";
import { PostriderError } from "../core/errors.ts";
import { asArray, asObject, type Json } from "../core/json.ts";
import type { PlanEntry } from "../core/plan.ts";

/** Timers count no further; it is more than three weeks. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;
const MOST_REPEATS = 1_000_000;
const TOOL_TIMEOUT_MS = 30_000;

/** One thing that a script does. */
export type Piece =
  | { readonly does: "say"; readonly text: string }
  | { readonly does: "echo" }
  | { readonly does: "think"; readonly text: string }
  | { readonly does: "wait"; readonly ms: number }
  | { readonly does: "fail"; readonly reason: string }
  | { readonly does: "hang" }
  | { readonly does: "message" }
  | { readonly does: "plan"; readonly entries: readonly PlanEntry[] }
  | { readonly does: "approve"; readonly request: ApprovalRequest; readonly denied: string }
  | { readonly does: "repeat"; readonly times: number; readonly say: readonly Piece[] }
  | { readonly does: "tell"; readonly what: "model" | "cwd" | "reasoning" }
  | { readonly does: "together"; readonly calls: readonly CallPiece[] }
  | CallPiece;

export type CallPiece = ToolPiece | UsePiece;

/** A call of a tool that the script itself is. */
export interface ToolPiece {
  readonly does: "tool";
  readonly name: string;
  readonly given: unknown;
  readonly effect: "external" | "none";
  /** The program that is really run, and its arguments. */
  readonly run?: readonly [string, ...string[]];
  readonly timeoutMs: number;
  /** What it answers when nothing is run. */
  readonly result: string;
}

/** A call of a tool that the place offers. */
export interface UsePiece {
  readonly does: "use";
  readonly name: string;
  readonly given: unknown;
}

/** The pieces of an answer: a text alone, or a list. */
export function piecesFrom(json: unknown, field: string): readonly Piece[] {
  if (typeof json === "string") return [{ does: "say", text: json }];
  return asArray(json, field).map((piece, at) => pieceFrom(piece, `${field}[${at}]`));
}

/** Each kind of piece, by the name that makes it one, and the names that may stand beside it. */
const KINDS: Readonly<
  Record<string, { readonly with?: readonly string[]; from(piece: Json, field: string): Piece }>
> = {
  wait_ms: { from: (piece, field) => ({ does: "wait", ms: ms(piece.wait_ms, `${field}.wait_ms`) }) },
  fail: { from: (piece, field) => ({ does: "fail", reason: words(piece.fail, `${field}.fail`) }) },
  think: { from: (piece, field) => ({ does: "think", text: words(piece.think, `${field}.think`) }) },
  echo: { from: (piece, field) => ({ does: said(piece.echo, "echo", `${field}.echo`) }) },
  message: { from: (piece, field) => ({ does: said(piece.message, "message", `${field}.message`) }) },
  hang: { from: (piece, field) => ({ does: said(piece.hang, "hang", `${field}.hang`) }) },
  model: { from: (piece, field) => ({ does: "tell", what: said(piece.model, "model", `${field}.model`) }) },
  cwd: { from: (piece, field) => ({ does: "tell", what: said(piece.cwd, "cwd", `${field}.cwd`) }) },
  reasoning: {
    from: (piece, field) => ({
      does: "tell",
      what: said(piece.reasoning, "reasoning", `${field}.reasoning`),
    }),
  },
  plan: {
    from: ({ plan }, field) => ({
      does: "plan",
      entries: asArray(plan, `${field}.plan`).map((entry, at) => planEntry(entry, `${field}.plan[${at}]`)),
    }),
  },
  approve: { with: ["denied"], from: approval },
  repeat: { with: ["say"], from: repetition },
  tool: { with: ["arguments", "effect", "run", "timeout_ms", "result"], from: tool },
  use: {
    with: ["arguments"],
    from: (piece, field) => ({
      does: "use",
      name: words(piece.use, `${field}.use`),
      given: piece.arguments ?? {},
    }),
  },
  together: { from: atOnce },
};

function pieceFrom(json: unknown, field: string): Piece {
  if (typeof json === "string") return { does: "say", text: json };
  const piece = asObject(json, field);
  const name = Object.keys(KINDS).find((known) => piece[known] !== undefined);
  const kind = name === undefined ? undefined : KINDS[name];
  if (name === undefined || kind === undefined)
    throw wrong(field, `must be a text or an object with one of ${Object.keys(KINDS).join(", ")}`);
  const stranger = Object.keys(piece).find((other) => other !== name && !kind.with?.includes(other));
  if (stranger !== undefined) throw wrong(`${field}.${stranger}`, `does not belong to a piece with ${name}`);
  return kind.from(piece, field);
}

function planEntry(json: unknown, field: string): PlanEntry {
  if (typeof json === "string") return { text: words(json, field), state: "pending" };
  const { text, state = "pending" } = asObject(json, field);
  const known = (["pending", "in_progress", "completed"] as const).find((one) => one === state);
  if (known === undefined) throw wrong(`${field}.state`, "must be pending, in_progress or completed");
  return { text: words(text, `${field}.text`), state: known };
}

function approval({ approve, denied }: Json, field: string): Piece {
  const at = `${field}.approve`;
  const { title, detail, pattern } = asObject(approve, at);
  const request = {
    title: words(title, `${at}.title`),
    ...(detail !== undefined && { detail: words(detail, `${at}.detail`) }),
    ...(pattern !== undefined && { pattern: words(pattern, `${at}.pattern`) }),
  };
  return {
    does: "approve",
    request,
    denied: denied === undefined ? `I was not allowed to: ${request.title}` : text(denied, `${field}.denied`),
  };
}

function repetition({ repeat, say }: Json, field: string): Piece {
  if (!Number.isSafeInteger(repeat) || Number(repeat) < 1 || Number(repeat) > MOST_REPEATS)
    throw wrong(`${field}.repeat`, `must be a whole number from 1 to ${MOST_REPEATS}`);
  return { does: "repeat", times: Number(repeat), say: piecesFrom(say, `${field}.say`) };
}

function atOnce({ together }: Json, field: string): Piece {
  const calls = asArray(together, `${field}.together`).map((json, at) => {
    const inside = `${field}.together[${at}]`;
    const piece = pieceFrom(json, inside);
    if (piece.does === "tool" || piece.does === "use") return piece;
    throw wrong(inside, "must be a piece with tool or use");
  });
  if (calls.length === 0) throw wrong(`${field}.together`, "must be a list of calls");
  return { does: "together", calls };
}

function tool(piece: Json, field: string): Piece {
  const { run, effect = run === undefined ? "none" : "external", timeout_ms: timeout, result } = piece;
  if (effect !== "external" && effect !== "none") throw wrong(`${field}.effect`, "must be external or none");
  if (run !== undefined && result !== undefined)
    throw wrong(`${field}.result`, "does not belong to a tool that is run: its output is the result");
  return {
    does: "tool",
    name: words(piece.tool, `${field}.tool`),
    given: piece.arguments ?? {},
    effect,
    ...(run !== undefined && { run: command(run, `${field}.run`) }),
    timeoutMs: timeout === undefined ? TOOL_TIMEOUT_MS : ms(timeout, `${field}.timeout_ms`),
    result: result === undefined ? "done" : text(result, `${field}.result`),
  };
}

function command(json: unknown, field: string): readonly [string, ...string[]] {
  const [program, ...args] = asArray(json, field);
  if (typeof program !== "string" || program === "")
    throw wrong(field, "must begin with the name of a program");
  return [program, ...args.map((arg, at) => text(arg, `${field}[${at + 1}]`))];
}

function ms(value: unknown, field: string): number {
  if (typeof value === "number" && value >= 0 && value <= LONGEST_WAIT_MS) return value;
  throw wrong(field, `must be a number of milliseconds from 0 to ${LONGEST_WAIT_MS}`);
}

function said<Name extends string>(value: unknown, name: Name, field: string): Name {
  if (value === true) return name;
  throw wrong(field, "must be true");
}

function words(value: unknown, field: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw wrong(field, "must be a text that is not empty");
}

function text(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw wrong(field, "must be a text");
}

function wrong(field: string, what: string): PostriderError {
  return new PostriderError("invalid_input", `${field} ${what}.`, { details: { field } });
}
