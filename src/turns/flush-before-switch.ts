import type { Sessions } from "../sessions/sessions.ts";
import type { AgentChat } from "./agent-chat.ts";

/**
 * Wraps `sessions`: `mark` is called with a session, and awaited, before a command switches the conversation away from it.
 * A crash in between leaves a mark too many; in the other order, the session would never be flushed.
 */
export function flushBeforeSwitch(
  sessions: Sessions,
  chat: Pick<AgentChat, "findCurrent">,
  mark: (session: string) => Promise<void>,
): Sessions {
  const markCurrent = async (to?: string): Promise<void> => {
    const current = (await chat.findCurrent())?.session.id;
    if (current !== undefined && current !== to) await mark(current);
  };
  return {
    ...sessions,
    async reset(who, conversation) {
      await markCurrent();
      return sessions.reset(who, conversation);
    },
    async switchTo(who, conversation, id) {
      await markCurrent(id);
      return sessions.switchTo(who, conversation, id);
    },
  };
}
