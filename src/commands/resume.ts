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
  async run(place, args) {
    if (args === "") return { text: await formatSessionList(place) };
    const { session, seq } = await findTarget(place, args);
    // After the policy: in a session that is due to end, "already there" would be true for no longer than a message.
    const { conversation, session: current } = await place.chat.open();
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
    const left = await leaveSession(place, conversation.number, () =>
      switchSession(place, conversation.number, session),
    );
    const count = pluralize(session.humanCount, "message of yours", "messages of yours");
    return { text: `Back in ${formatSessionName(session)}, with ${count}.${left}`, moved: true, ...around };
  },
  listChoices: async (place, args) => (args === "" ? listResumeChoices(place, 100) : []),
  complete: async (place, begun) => {
    const all = await listResumeChoices(place, 50);
    const wanted = begun.toLowerCase();
    return all.filter(({ line, label }) => `${line} ${label}`.toLowerCase().includes(wanted));
  },
};

/** `k7f/12` is message 12 of session k7f; anything else names a session. */
async function findTarget(
  place: ChatCommandContext,
  args: string,
): Promise<{ session: Session; seq?: number }> {
  const [, handle = "", seq = ""] = /^(\S+)\/(\d{1,8})$/.exec(args) ?? [];
  const { session } = isHandle(handle) ? await matchSession(place.store, place.who, handle) : {};
  // A title may look like this, too.
  if (session?.handle !== handle) return { session: await findNamedSession(place, args) };
  return { session, seq: checkMessageSeq(session, Number(seq)) };
}

async function listOthers(place: ChatCommandContext, limit: number): Promise<readonly ListedSession[]> {
  const { session } = await requireCurrent(place);
  return listNewestSessions(place, limit, ({ id }) => id !== session.id);
}

async function listResumeChoices(place: ChatCommandContext, limit: number): Promise<readonly Choice[]> {
  return (await listOthers(place, limit)).map((item) => ({
    line: `/resume ${item.handle}`,
    label: item.title ?? (shortenLine(item.preview, 60) || item.handle),
    about: [
      item.handle,
      formatTimeUntil(item.lastAt, place.now()),
      item.title === undefined ? "" : shortenLine(item.preview),
    ]
      .filter(Boolean)
      .join(" · "),
  }));
}

/** The newest sessions but this one, each with the line that goes there. */
export async function formatSessionList(place: ChatCommandContext): Promise<string> {
  const items = await listOthers(place, 10);
  if (items.length === 0) return "There are no other sessions yet. /new starts one.";
  const rows = items.map((item) => {
    const name = item.title === undefined ? "" : `**${escapeMarkdown(item.title)}** `;
    const preview = escapeMarkdown(shortenLine(item.preview));
    return `- \`${formatResumeCommand(place, { handle: item.handle })}\` ${name}${preview} (${formatTimeUntil(item.lastAt, place.now())})`;
  });
  return rows.join("\n");
}
