import type { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { type ErrorCode, PostriderError } from "../core/errors.ts";
import type { TerminalSize } from "./processes.ts";

/*
 * The protocol of client and keeper: one JSON object per line. The keeper starts with a greeting; then each request gets
 * one answer with its number. The keeper closes the connection on anything else.
 */

/** Increases when an older keeper would misunderstand a newer client, or the other way round. */
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

/** Calls `onLine` with each whole line; `onTooLong`, once, if a line exceeds the limit. */
export function readSocketLines(socket: Socket, onLine: (text: string) => void, onTooLong: () => void): void {
  const decoder = new StringDecoder("utf8");
  let partial: string[] = [];
  let length = 0;
  socket.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    partial.push(first);
    length += first.length;
    for (const next of others) {
      const whole = partial.join("");
      partial = [next];
      length = next.length;
      onLine(whole);
    }
    if (length <= MAX_REQUEST_LINE) return;
    partial = [];
    length = 0;
    onTooLong();
  });
}

/** `undefined` if the line is not a request. */
export function parseKeeperRequest(line: string): NumberedRequest | undefined {
  const value = parseJsonObject(line);
  if (value === undefined || !Number.isSafeInteger(value.id) || typeof value.process !== "string")
    return undefined;
  const isRequest =
    value.do === "start"
      ? isStart(value)
      : value.do === "write"
        ? typeof value.text === "string"
        : value.do === "resize"
          ? isSize(value.size)
          : value.do === "endInput" || value.do === "wait" || value.do === "kill";
  return isRequest ? (value as unknown as NumberedRequest) : undefined;
}

function isStart(value: Record<string, unknown>): boolean {
  const { command, cwd, pty, environment, secrets, patterns, timeoutMs = 1 } = value;
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

function isSize(value: unknown): boolean {
  const isSide = (side: unknown): boolean =>
    Number.isInteger(side) && Number(side) > 0 && Number(side) <= 1000;
  return isObject(value) && isSide(value.rows) && isSide(value.columns);
}

/** The kernel ends a string at its first zero byte. */
function isPassable(value: readonly unknown[]): boolean {
  return value.every((text) => typeof text === "string" && !text.includes("\0"));
}

function isStringArray(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

export function parseJsonObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function sendLine(socket: Socket, line: KeeperGreeting | NumberedRequest | KeeperAnswer): void {
  socket.write(`${JSON.stringify(line)}\n`);
}

/** An error as it crosses the socket. Other errors may contain anything, so the keeper only logs them. */
export function toErrorAnswer(error: unknown): { readonly code: ErrorCode; readonly message: string } {
  if (error instanceof PostriderError) return { code: error.code, message: error.message };
  return {
    code: "internal",
    message: "The process keeper failed. See logs/keeper.log in Postrider's home.",
  };
}
