import type { Conversation } from "../core/conversation.ts";
import { getTakeMode } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import { awaitChange } from "../sessions/await-change.ts";
import type { Flow } from "./flow.ts";

/**
 * Takes up what waits in a session that nobody answers here: at once, or as soon as the process that does, a terminal or
 * an editor, has come to its end. It may take what waits along; then there is nothing to be done.
 */
export function claimNext(flow: Flow): (session: string, conversation: Conversation) => Promise<void> {
  const { store, clock, runner, turns, signal } = flow;
  const awaited = new Set<string>();

  async function take(session: string, { settings }: Conversation): Promise<void> {
    while (!signal.aborted) {
      const change = awaitChange(store, signal);
      try {
        // A turn that runs here takes the next one along.
        if (turns.isRunning(session)) return;
        const by = { runner, take: getTakeMode(flow.settings(), settings) };
        const turn = await store.turns.claim({ session, ...by, now: clock.now() });
        if (turn !== undefined) {
          await turns.run(turn);
          return;
        }
        if ((await store.inbox.listPending({ asker: SYSTEM, session })).length === 0) return;
        await change.happened;
      } finally {
        change.forget();
      }
    }
  }

  return async (session, conversation) => {
    if (awaited.has(session)) return;
    awaited.add(session);
    await take(session, conversation).finally(() => awaited.delete(session));
  };
}
