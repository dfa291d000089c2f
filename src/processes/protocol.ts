import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { type ErrorCode, PostriderError } from "../core/errors.ts";
import type { TerminalSize } from "./processes.ts";

/*
 * What a client and the keeper say to each other: one JSON object a line. The keeper begins with a greeting; then each
 * request gets one answer with its number. Who says anything else is hung up on.
 */

/** Rises when an older keeper would misunderstand a newer client, or the other way round. */
export const KEEPER_PROTOCOL = 1;
export const MAX_REQUEST_LINE: number = 4 * 1024 * 1024;

export interface KeeperGreeting {
  readonly keeper: number;
  readonly pid: number;
}

export interface StartRequest {
  readonly do: "start";
  readonly process: string;
  readonly command: string;
  readonly cwd: string;
  readonly pty: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly patterns: readonly string[];
  readonly timeoutMs?: number;
}

export type KeeperRequest =
  | StartRequest
  | { readonly do: "write"; readonly process: string; readonly text: string }
  | { readonly do: "endInput"; readonly process: string }
  | { readonly do: "resize"; readonly process: string; readonly size: TerminalSize }
  | { readonly do: "wait"; readonly process: string }
  | { readonly do: "kill"; readonly process: string };

export type NumberedRequest = KeeperRequest & { readonly id: number };

export type KeeperAnswer =
  | { readonly id: number; readonly done: true }
  | { readonly id: number; readonly error: { readonly code: ErrorCode; readonly message: string } };

/** Calls with each whole line; `tooLong`, once, when one has no end. */
export function readSocketLines(socket: Socket, line: (text: string) => void, tooLong: () => void): void {
  const decoder = new StringDecoder("utf8");
  let waiting: string[] = [];
  let length = 0;
  socket.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    waiting.push(first);
    length += first.length;
    for (const next of others) {
      const whole = waiting.join("");
      waiting = [next];
      length = next.length;
      line(whole);
    }
    if (length <= MAX_REQUEST_LINE) return;
    waiting = [];
    length = 0;
    tooLong();
  });
}

/** `undefined` when it is not a request. */
export function parseKeeperRequest(line: string): NumberedRequest | undefined {
  const given = parseJsonObject(line);
  if (given === undefined || !Number.isSafeInteger(given.id) || typeof given.process !== "string")
    return undefined;
  const isRequest =
    given.do === "start"
      ? isStart(given)
      : given.do === "write"
        ? typeof given.text === "string"
        : given.do === "resize"
          ? isSize(given.size)
          : given.do === "endInput" || given.do === "wait" || given.do === "kill";
  return isRequest ? (given as unknown as NumberedRequest) : undefined;
}

function isStart(given: Record<string, unknown>): boolean {
  const { command, cwd, pty, environment, secrets, patterns, timeoutMs = 1 } = given;
  return (
    typeof pty === "boolean" &&
    isObject(environment) &&
    isPassable([command, cwd, ...Object.entries(environment).flat()]) &&
    isStringArray(secrets) &&
    isStringArray(patterns) &&
    typeof timeoutMs === "number" &&
    timeoutMs > 0
  );
}

function isSize(given: unknown): boolean {
  const isSide = (side: unknown): boolean =>
    Number.isInteger(side) && Number(side) > 0 && Number(side) <= 1000;
  return isObject(given) && isSide(given.rows) && isSide(given.columns);
}

/** The kernel takes texts that end at their first zero. */
function isPassable(given: readonly unknown[]): boolean {
  return given.every((text) => typeof text === "string" && !text.includes("\0"));
}

function isStringArray(given: unknown): boolean {
  return Array.isArray(given) && given.every((text) => typeof text === "string");
}

export function parseJsonObject(line: string): Record<string, unknown> | undefined {
  try {
    const given: unknown = JSON.parse(line);
    return isObject(given) ? given : undefined;
  } catch {
    return undefined;
  }
}

function isObject(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

export function sendLine(socket: Socket, line: KeeperGreeting | NumberedRequest | KeeperAnswer): void {
  socket.write(`${JSON.stringify(line)}\n`);
}

/** An error as it crosses the socket. What is no word of ours may hold anything, so it is only logged. */
export function toErrorAnswer(error: unknown): { readonly code: ErrorCode; readonly message: string } {
  if (error instanceof PostriderError) return { code: error.code, message: error.message };
  return {
    code: "internal",
    message: "The keeper of processes has failed at this; its log, logs/keeper.log in the home, says why.",
  };
}
