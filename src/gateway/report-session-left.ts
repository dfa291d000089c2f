import { SYSTEM } from "../core/owner.ts";
import type { Flow } from "./flow.ts";

type ReportContext = Pick<Flow, "store" | "hooks" | "clock" | "flush">;

/** What hooks are told of a session, besides what each event adds. */
export interface SessionHookContext {
  readonly session: string;
  readonly platform: string;
  readonly [name: string]: unknown;
}

/** The memory is told of a session that is left, once for what was said in it. */
export async function scheduleFlushWithHook(flow: ReportContext, about: SessionHookContext): Promise<void> {
  if (await scheduleFlush(flow, about.session)) await flow.hooks.emit("session:flush", about);
}

/** Marked before anybody is told: what crashes in between is not told twice. False if nothing was said since the last time. */
export async function scheduleFlush(
  { store, clock, flush }: ReportContext,
  session: string,
): Promise<boolean> {
  const isNew = await store.memory.requestFlush({ session, now: clock.now() });
  if (isNew) flush?.();
  return isNew;
}

/**
 * Where somebody speaks before the expiry has looked, their message itself ends the session: then nobody has been told
 * yet. What became of it is written down.
 */
export async function reportSessionLeft(
  flow: ReportContext,
  conversation: number,
  about: SessionHookContext & { readonly reason: string },
): Promise<void> {
  const { reason: _, ...session } = about;
  await scheduleFlushWithHook(flow, session);
  const decisions = await flow.store.conversations.listDecisions({ asker: SYSTEM, conversation });
  const [, before] = decisions.filter(({ from, to }) => from === about.session || to === about.session);
  if (before?.decision !== "expired") await flow.hooks.emit("session:end", about);
}
