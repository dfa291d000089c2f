import type { Sessions } from "../sessions/sessions.ts";
import type { AgentChat } from "./agent-chat.ts";

/**
 * The same sessions; `mark` is called with a session before a conversation leaves it by a command, and finished by then. If
 * the program falls between the two, what was said is marked and not left, which harms nobody; the other way round it would
 * be left and forgotten.
 */
export function flushBeforeSwitch(
  sessions: Sessions,
  talk: Pick<AgentChat, "findCurrent">,
  mark: (session: string) => Promise<void>,
): Sessions {
  const leaving = async (to?: string): Promise<void> => {
    const here = (await talk.findCurrent())?.session.id;
    if (here !== undefined && here !== to) await mark(here);
  };
  return {
    ...sessions,
    async reset(who, conversation) {
      await leaving();
      return sessions.reset(who, conversation);
    },
    async switchTo(who, conversation, id) {
      await leaving(id);
      return sessions.switchTo(who, conversation, id);
    },
  };
}
