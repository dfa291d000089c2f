import type { Log } from "../ports/log.ts";

/** What whoever listens is told, in words that are kept: names and fields are added, never renamed. */
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
  /** Exact, or `base:*` for all of a kind. */
  readonly events: readonly string[];
  handle(event: HookEvent, context: HookContext): unknown;
}

export interface Hooks {
  /** Tells everyone who listens. Resolves when they are done; a failure is told in the log, and is nobody else's. */
  emit(event: HookEvent, context: HookContext): Promise<void>;
}

/** A hook that takes longer is not waited for. */
const HOOK_TIMEOUT_MS = 30_000;

export function hooks(all: readonly Hook[], log: Log): Hooks {
  return {
    async emit(event, context) {
      const meant = all.filter((hook) => hook.events.some((wanted) => isSubscribed(wanted, event)));
      await Promise.all(meant.map((hook) => runHook(hook, event, context, log)));
    },
  };
}

function isSubscribed(wanted: string, event: string): boolean {
  if (wanted === event || wanted === "*") return true;
  return wanted.endsWith(":*") && event.startsWith(wanted.slice(0, -1));
}

async function runHook(hook: Hook, event: HookEvent, context: HookContext, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${HOOK_TIMEOUT_MS} ms`)), HOOK_TIMEOUT_MS);
  });
  try {
    const handled = (async () => hook.handle(event, context))();
    handled.catch(() => {}); // one that fails after it was given up
    await Promise.race([handled, late]);
  } catch (error) {
    log.warn({ hook: hook.name, event, error }, "a hook failed");
  } finally {
    clearTimeout(timer);
  }
}
