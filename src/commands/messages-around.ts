import { PostriderError } from "../core/errors.ts";
import { type ChatCommandContext, escapeMarkdown } from "./command.ts";
import { formatMessageLine } from "./history.ts";

const NEIGHBOURS = 3;

/** What was said around a message, in Markdown, with the message itself marked. */
export async function formatMessagesAround(
  { sessions, who, zone }: ChatCommandContext,
  at: { readonly session: string; readonly seq: number },
): Promise<string> {
  const session = await sessions.get(who, at.session);
  const after = Math.max(0, at.seq - NEIGHBOURS - 1);
  const said = await sessions.messages(who, at.session, { after, limit: 2 * NEIGHBOURS + 1 });
  if (session === undefined || !said?.some(({ seq }) => seq === at.seq)) {
    throw new PostriderError("not_found", `That session has no message ${at.seq}.`);
  }
  const lines = said.map(
    (message) => `${message.seq === at.seq ? "▶ " : ""}${formatMessageLine(message, zone)}`,
  );
  return [`*${escapeMarkdown(session.title ?? session.handle)}, around message ${at.seq}:*`, ...lines].join(
    "\n\n",
  );
}
