import { SYSTEM } from "../core/owner.ts";
import type { Flow } from "./flow.ts";

type ReportContext = Pick<Flow, "store" | "hooks" | "clock" | "flush">;

/** The fields of a session in hook events, besides those that each event adds. */
export interface SessionHookContext {
  readonly session: string;
  readonly platform: string;
  readonly [name: string]: unknown;
}

/** Requests the memory flush of a session, once for its new messages, and reports it to the hooks. */
export async function scheduleFlushWithHook(flow: ReportContext, about: SessionHookContext): Promise<void> {
  if (await scheduleFlush(flow, about.session)) await flow.hooks.emit("session:flush", about);
}

/** Requested before it is reported, so that a crash in between repeats nothing. False without new messages. */
export async function scheduleFlush(
  { store, clock, flush }: ReportContext,
  session: string,
): Promise<boolean> {
  const isNew = await store.memory.requestFlush({ session, now: clock.now() });
  if (isNew) flush?.();
  return isNew;
}

/**
 * Reports a session that a new message has ended before the expiry did. The stored decisions say whether the expiry has
 * reported it already.
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
