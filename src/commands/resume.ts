import { isHandle } from "../core/ids.ts";
import type { Listed } from "../core/listing.ts";
import { plural } from "../core/plural.ts";
import type { Session } from "../core/session.ts";
import { sessionNamed } from "../sessions/session-named.ts";
import {
  type ChatCommand,
  type Choice,
  escaped,
  here,
  nameOf,
  type Place,
  shortened,
  wayTo,
} from "./command.ts";
import { goTo } from "./go-to.ts";
import { leaveSession } from "./leave-session.ts";
import { messageIn, named } from "./named.ts";
import { newestSessions } from "./newest-sessions.ts";
import { distance } from "./when.ts";

export const resume: ChatCommand = {
  name: "resume",
  takes: "[TITLE | HANDLE | HANDLE/MESSAGE]",
  summary: "go on in another session",
  inEditors: "A thread is one session here: open another from the list of your threads, or load it.",
  async run(place, args) {
    if (args === "") return { text: await sessionList(place) };
    const { session, seq } = await placeNamed(place, args);
    // After the policy: in a session that is due to end, "already there" would be true for no longer than a message.
    const { conversation, session: current } = await place.talk.open();
    const around = seq === undefined ? {} : { around: { session: session.id, seq } };
    if (session.id === current.id) {
      return {
        text: seq === undefined ? `You are in ${nameOf(session)} already.` : `In ${nameOf(session)}:`,
        ...around,
      };
    }
    const left = await leaveSession(place, conversation.number, () =>
      goTo(place, conversation.number, session),
    );
    const count = plural(session.humanCount, "message of yours", "messages of yours");
    return { text: `Back in ${nameOf(session)}, with ${count}.${left}`, moved: true, ...around };
  },
  choose: async (place, args) => (args === "" ? choices(place, 100) : []),
  complete: async (place, begun) => {
    const all = await choices(place, 50);
    const wanted = begun.toLowerCase();
    return all.filter(({ line, label }) => `${line} ${label}`.toLowerCase().includes(wanted));
  },
};

/** `k7f/12` is message 12 of session k7f; anything else names a session. */
async function placeNamed(place: Place, args: string): Promise<{ session: Session; seq?: number }> {
  const [, handle = "", seq = ""] = /^(\S+)\/(\d{1,8})$/.exec(args) ?? [];
  const { session } = isHandle(handle) ? await sessionNamed(place.store, place.who, handle) : {};
  // A title may look like this, too.
  if (session?.handle !== handle) return { session: await named(place, args) };
  return { session, seq: messageIn(session, Number(seq)) };
}

async function others(place: Place, limit: number): Promise<readonly Listed[]> {
  const { session } = await here(place);
  return newestSessions(place, limit, ({ id }) => id !== session.id);
}

async function choices(place: Place, limit: number): Promise<readonly Choice[]> {
  return (await others(place, limit)).map((item) => ({
    line: `/resume ${item.handle}`,
    label: item.title ?? (shortened(item.preview, 60) || item.handle),
    about: [
      item.handle,
      distance(item.lastAt, place.now()),
      item.title === undefined ? "" : shortened(item.preview),
    ]
      .filter(Boolean)
      .join(" · "),
  }));
}

/** The newest sessions but this one, each with the line that goes there. */
export async function sessionList(place: Place): Promise<string> {
  const items = await others(place, 10);
  if (items.length === 0) return "There are no other sessions yet. /new starts one.";
  const rows = items.map((item) => {
    const name = item.title === undefined ? "" : `**${escaped(item.title)}** `;
    const preview = escaped(shortened(item.preview));
    return `- \`${wayTo(place, { handle: item.handle })}\` ${name}${preview} (${distance(item.lastAt, place.now())})`;
  });
  return rows.join("\n");
}
