import { pathToFileURL } from "node:url";
import type { Hook } from "../../gateway/hooks.ts";

/** Loads a module with `handle(event, context)`, and with `events` unless hook.yaml has them. */
export async function loadModuleHook(name: string, file: string, events?: readonly string[]): Promise<Hook> {
  const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const { handle, events: own } = module;
  if (typeof handle !== "function") throw new Error("the module exports no function handle(event, context)");
  return {
    name,
    events: events ?? parseHookEvents(own),
    handle: (event, context) => handle(event, context),
  };
}

/** Parses one event name or a list. */
export function parseHookEvents(value: unknown): readonly string[] {
  const events: unknown[] = Array.isArray(value) ? value : [value];
  if (events.length > 0 && events.every((event) => typeof event === "string" && event !== ""))
    return events as string[];
  throw new Error('the hook names no events: events must be a list such as ["agent:end"]');
}
