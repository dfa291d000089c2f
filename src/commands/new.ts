import { PostriderError } from "../core/errors.ts";
import { uuidFrom } from "../core/ids.ts";
import { pluralize } from "../core/pluralize.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import type { Session } from "../core/session.ts";
import { cleanTitle } from "../core/titles.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type CommandReply,
  formatSessionName,
  isEditor,
  requireCurrent,
} from "./command.ts";
import { leaveSession, refuseWhileAnswering } from "./switch-session.ts";

export const newChatCommand: ChatCommand = {
  name: "new",
  aliases: ["reset", "clear"],
  parameters: "[TITLE]",
  summary: "start a new session; the old one stays",
  async run(context, args) {
    // Checked before anything is stopped.
    const title = cleanTitle(args);
    const { conversation, session: old } = await requireCurrent(context);
    if (isEditor(context)) return clearThread(context, old, title);
    const left = await leaveSession(context, conversation.number);
    const back = await formatWayBack(context, old);
    const { session } = await context.sessions.reset(context.who, conversation.number);
    const titled = title === undefined ? session : await setNewTitle(context, session, title);
    return { text: `New session ${formatSessionName(titled)}.${back}${left}`, moved: true };
  },
};

/** In an editor the thread stays and shows nothing any more; a new session keeps the messages it showed. */
async function clearThread(
  context: ChatCommandContext,
  session: Session,
  title: string | undefined,
): Promise<CommandReply> {
  const { sessions, who } = context;
  await refuseWhileAnswering(context, session.id);
  if (((await sessions.shownLength(who, session.id)) ?? 0) === 0)
    throw new PostriderError("invalid_input", "Nothing has been said in this thread yet: it is new.");
  const kept = await sessions.fork(who, session.id, { id: uuidFrom(context.random(16)) });
  await sessions.rewrite(who, session.id, []);
  if (title !== undefined) await setNewTitle(context, session, title);
  return {
    text: `From here on, nothing that was said above is read any more. It is kept as ${formatSessionName(kept)}, which is in the list of your threads.`,
    moved: true,
  };
}

/** A title that exists already gets the next number: the new session is current already. */
async function setNewTitle(
  { store, who }: ChatCommandContext,
  session: Session,
  title: string,
): Promise<Session> {
  const ask = { asker: who, session: session.id, title };
  const set = await store.sessions.setTitle(ask);
  const isTaken = isRefused(set) && set.refused === "title_taken";
  return throwIfRefused(isTaken ? await store.sessions.setTitle({ ...ask, numbered: true }) : set);
}

async function formatWayBack({ sessions, who }: ChatCommandContext, old: Session): Promise<string> {
  const shown = (await sessions.shownLength(who, old.id)) ?? 0;
  if (shown === 0 && old.messageCount === 0) return "";
  const kept = `The one before, ${formatSessionName(old)}, is kept with its ${pluralize(shown, "message")}.`;
  return ` ${kept} To go back: \`/resume ${old.handle}\``;
}
