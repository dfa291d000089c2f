import { PostriderError } from "../core/errors.ts";
import { type ChatCommand, formatSessionName, requireCurrent } from "./command.ts";
import { refuseWhileAnswering } from "./switch-session.ts";

export const forkChatCommand: ChatCommand = {
  name: "fork",
  aliases: ["branch"],
  parameters: "[TITLE]",
  summary: "continue in a copy; the original stays as it is",
  editorRefusal:
    "A thread is one session here: fork it from the list of your threads, or in the terminal by its handle.",
  async run(context, args) {
    const { conversation, session } = await requireCurrent(context);
    await refuseWhileAnswering(context, session.id);
    // The shown messages count: a new copy has no messages of its own yet.
    if (((await context.sessions.shownLength(context.who, session.id)) ?? 0) === 0)
      throw new PostriderError("invalid_input", "There is nothing to fork yet.");
    const copy = await context.sessions.fork(context.who, session.id, args === "" ? {} : { title: args });
    await context.sessions.switchTo(context.who, conversation.number, copy.id);
    const back = `To go back to the original: \`/resume ${session.handle}\``;
    return { text: `You are in the copy ${formatSessionName(copy)} now. ${back}`, moved: true };
  },
};
