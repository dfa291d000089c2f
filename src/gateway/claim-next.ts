import type { Conversation } from "../core/conversation.ts";
import { getTakeMode } from "../core/gateway-settings.ts";
import { SYSTEM } from "../core/owner.ts";
import { awaitChange } from "../sessions/await-change.ts";
import type { Flow } from "./flow.ts";

/**
 * Claims the pending messages of a session that no turn of this process answers: at once, or as soon as the turn of
 * another process, such as a terminal or an editor, ends. That turn may answer them itself.
 */
export function claimNext(flow: Flow): (session: string, conversation: Conversation) => Promise<void> {
  const { store, clock, runner, turns, signal } = flow;
  const claiming = new Set<string>();

  async function take(session: string, { settings }: Conversation): Promise<void> {
    while (!signal.aborted) {
      const change = awaitChange(store, signal);
      try {
        // A turn of this process claims the next messages itself.
        if (turns.isRunning(session)) return;
        const by = { runner, take: getTakeMode(flow.settings(), settings) };
        // `recoverTurns` claims it as soon as there is room, unless another process does.
        if (!flow.hasRoom()) return;
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
    if (claiming.has(session)) return;
    claiming.add(session);
    await take(session, conversation).finally(() => claiming.delete(session));
  };
}
