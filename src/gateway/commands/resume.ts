import { PostriderError } from "../../core/errors.ts";
import { isHandle } from "../../core/ids.ts";
import type { Listed } from "../../core/listing.ts";
import type { Session } from "../../core/session.ts";
import {
  type ChatCommand,
  type Choice,
  escaped,
  here,
  nameOf,
  type Place,
  plural,
  shortened,
} from "./command.ts";
import { leaveSession } from "./leave-session.ts";
import { named } from "./named.ts";
import { distance } from "./when.ts";

export const resume: ChatCommand = {
  name: "resume",
  takes: "[TITLE | HANDLE | HANDLE/MESSAGE]",
  summary: "go on in another session",
  async run(place, args) {
    if (args === "") return { text: await sessionList(place) };
    const { conversation, session: current } = await here(place);
    const { session, seq } = await placeNamed(place, args);
    const around = seq === undefined ? {} : { around: { session: session.id, seq } };
    if (session.id === current.id) {
      return {
        text: seq === undefined ? `You are in ${nameOf(session)} already.` : `In ${nameOf(session)}:`,
        ...around,
      };
    }
    const left = await leaveSession(place, conversation.number);
    if ((await place.sessions.switchTo(place.who, conversation.number, session.id)) === undefined) {
      throw new PostriderError("not_found", "That session has just been removed. You are where you were.");
    }
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
  if (!isHandle(handle)) return { session: await named(place, args) };
  return { session: await named(place, handle), seq: Number(seq) };
}

async function others(place: Place, limit: number): Promise<readonly Listed[]> {
  const { session } = await here(place);
  const { items } = await place.sessions.list(place.who, { limit: limit + 1 });
  return items.filter(({ id, messageCount }) => id !== session.id && messageCount > 0).slice(0, limit);
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
    return `- \`/resume ${item.handle}\` ${name}${preview} (${distance(item.lastAt, place.now())})`;
  });
  return rows.join("\n");
}
