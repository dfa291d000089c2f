import type { Log } from "../ports/log.ts";

/** Events for hooks. This is a public promise: names and fields are added, never renamed. */
export type HookEvent =
  | "gateway:startup"
  | "session:start"
  | "session:end"
  | "session:reset"
  | "session:flush"
  | "agent:start"
  | "agent:step"
  | "agent:end"
  | `command:${string}`;

export type HookContext = Readonly<Record<string, unknown>>;

export interface Hook {
  readonly name: string;
  /** Exact names, `base:*` for all events of a kind, or `*`. */
  readonly events: readonly string[];
  handle(event: HookEvent, context: HookContext): unknown;
}

export interface Hooks {
  /** Calls the hooks of this event. Resolves when they are done; a failure is logged and affects nothing else. */
  emit(event: HookEvent, context: HookContext): Promise<void>;
}

/** The gateway waits no longer for a hook. */
const HOOK_TIMEOUT_MS = 30_000;

export function hooks(all: readonly Hook[], log: Log): Hooks {
  return {
    async emit(event, context) {
      const subscribed = all.filter((hook) => hook.events.some((pattern) => isSubscribed(pattern, event)));
      await Promise.all(subscribed.map((hook) => runHook(hook, event, context, log)));
    },
  };
}

function isSubscribed(pattern: string, event: string): boolean {
  if (pattern === event || pattern === "*") return true;
  return pattern.endsWith(":*") && event.startsWith(pattern.slice(0, -1));
}

async function runHook(hook: Hook, event: HookEvent, context: HookContext, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${HOOK_TIMEOUT_MS} ms`)), HOOK_TIMEOUT_MS);
  });
  try {
    const handled = (async () => hook.handle(event, context))();
    handled.catch(() => {}); // it may fail after the time-out
    await Promise.race([handled, late]);
  } catch (error) {
    log.warn({ hook: hook.name, event, error }, "a hook failed");
  } finally {
    clearTimeout(timer);
  }
}
