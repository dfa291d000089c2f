import { isAbsolute, join } from "node:path";
import { parse } from "yaml";
import { MAX_YAML_LENGTH } from "../config/yaml-text.ts";
import { parseHookEvents } from "./module-hook.ts";

/** The content of a `hook.yaml`. */
export interface HookFile {
  readonly events: readonly string[];
  readonly action:
    | { readonly module: string }
    | { readonly command: readonly string[]; readonly timeoutMs: number };
}

const FIELDS = ["events", "command", "module", "timeout_seconds", "description"];
const DEFAULT_SECONDS = 10;
const MAX_SECONDS = 300;

/** Parses a `hook.yaml`. The error names the problem. */
export function parseHookFile(text: string, folder: string): HookFile {
  if (text.length > MAX_YAML_LENGTH)
    throw new Error(`hook.yaml is longer than ${MAX_YAML_LENGTH} characters`);
  const value: unknown = parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error("hook.yaml must have fields, such as events and command");
  const fields = value as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined)
    throw new Error(`hook.yaml has an unknown field ${unknown}; valid fields: ${FIELDS.join(", ")}`);
  const events = parseHookEvents(fields.events);
  const { command, module } = fields;
  if ((command === undefined) === (module === undefined))
    throw new Error("hook.yaml must have either a command or a module");
  if (command === undefined) {
    if (typeof module !== "string") throw new Error("module must be the name of a file");
    return { events, action: { module: resolveInFolder(module, folder) } };
  }
  return {
    events,
    action: { command: parseCommand(command, folder), timeoutMs: parseTimeout(fields.timeout_seconds) },
  };
}

/** A text is a command without arguments; a list has arguments. No shell splits it. */
function parseCommand(value: unknown, folder: string): readonly string[] {
  const words: unknown[] = Array.isArray(value) ? value : [value];
  const [program, ...args] = words;
  if (typeof program !== "string" || program === "" || !args.every((word) => typeof word === "string"))
    throw new Error('command must be a file, or a list such as ["./notify.sh", "loud"]');
  return [program.includes("/") ? resolveInFolder(program, folder) : program, ...(args as string[])];
}

function resolveInFolder(path: string, folder: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function parseTimeout(value: unknown): number {
  if (value === undefined) return DEFAULT_SECONDS * 1000;
  if (typeof value === "number" && value > 0 && value <= MAX_SECONDS) return value * 1000;
  throw new Error(`timeout_seconds must be a number of seconds up to ${MAX_SECONDS}`);
}
