import { isHandle } from "../core/ids.ts";
import type { ListedSession } from "../core/listing.ts";
import { pluralize } from "../core/pluralize.ts";
import type { Session } from "../core/session.ts";
import { matchSession } from "../sessions/match-session.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type Choice,
  escapeMarkdown,
  formatResumeCommand,
  formatSessionName,
  formatTimeUntil,
  requireCurrent,
  shortenLine,
} from "./command.ts";
import { checkMessageSeq, findNamedSession, listNewestSessions } from "./find-sessions.ts";
import { leaveSession, switchSession } from "./switch-session.ts";

export const resumeChatCommand: ChatCommand = {
  name: "resume",
  parameters: "[TITLE | HANDLE | HANDLE/MESSAGE]",
  summary: "go on in another session",
  editorRefusal: "A thread is one session here: open another from the list of your threads, or load it.",
  async run(context, args) {
    if (args === "") return { text: await formatSessionList(context) };
    const { session, seq } = await findTarget(context, args);
    // After the policy: in a session that is due to end, "already there" would be true for no longer than a message.
    const { conversation, session: current } = await context.chat.open();
    const around = seq === undefined ? {} : { around: { session: session.id, seq } };
    if (session.id === current.id) {
      return {
        text:
          seq === undefined
            ? `You are in ${formatSessionName(session)} already.`
            : `In ${formatSessionName(session)}:`,
        ...around,
      };
    }
    const left = await leaveSession(context, conversation.number, () =>
      switchSession(context, conversation.number, session),
    );
    const count = pluralize(session.humanCount, "message of yours", "messages of yours");
    return { text: `Back in ${formatSessionName(session)}, with ${count}.${left}`, moved: true, ...around };
  },
  listChoices: async (context, args) => (args === "" ? listResumeChoices(context, 100) : []),
  complete: async (context, begun) => {
    const all = await listResumeChoices(context, 50);
    const wanted = begun.toLowerCase();
    return all.filter(({ line, label }) => `${line} ${label}`.toLowerCase().includes(wanted));
  },
};

/** `k7f/12` is message 12 of session k7f; anything else names a session. */
async function findTarget(
  context: ChatCommandContext,
  args: string,
): Promise<{ session: Session; seq?: number }> {
  const [, handle = "", seq = ""] = /^(\S+)\/(\d{1,8})$/.exec(args) ?? [];
  const { session } = isHandle(handle) ? await matchSession(context.store, context.who, handle) : {};
  // A title may look like this, too.
  if (session?.handle !== handle) return { session: await findNamedSession(context, args) };
  return { session, seq: checkMessageSeq(session, Number(seq)) };
}

async function listOthers(context: ChatCommandContext, limit: number): Promise<readonly ListedSession[]> {
  const { session } = await requireCurrent(context);
  return listNewestSessions(context, limit, ({ id }) => id !== session.id);
}

async function listResumeChoices(context: ChatCommandContext, limit: number): Promise<readonly Choice[]> {
  return (await listOthers(context, limit)).map((item) => ({
    line: `/resume ${item.handle}`,
    label: item.title ?? (shortenLine(item.preview, 60) || item.handle),
    about: [
      item.handle,
      formatTimeUntil(item.lastAt, context.now()),
      item.title === undefined ? "" : shortenLine(item.preview),
    ]
      .filter(Boolean)
      .join(" · "),
  }));
}

/** The newest sessions but this one, each with the line that goes there. */
export async function formatSessionList(context: ChatCommandContext): Promise<string> {
  const items = await listOthers(context, 10);
  if (items.length === 0) return "There are no other sessions yet. /new starts one.";
  const rows = items.map((item) => {
    const name = item.title === undefined ? "" : `**${escapeMarkdown(item.title)}** `;
    const preview = escapeMarkdown(shortenLine(item.preview));
    return `- \`${formatResumeCommand(context, { handle: item.handle })}\` ${name}${preview} (${formatTimeUntil(item.lastAt, context.now())})`;
  });
  return rows.join("\n");
}
