import { type ChatCommand, formatSessionName, requireCurrent } from "./command.ts";
import { leaveSession } from "./switch-session.ts";

export const archiveChatCommand: ChatCommand = {
  name: "archive",
  summary: "put this session away and start a new one",
  editorRefusal: "A thread is one session here: close it, and postrider sessions archive puts it away.",
  async run(context) {
    const { conversation, session } = await requireCurrent(context);
    const left = await leaveSession(context, conversation.number);
    await context.sessions.archive(context.who, session.id);
    const { session: fresh } = await context.sessions.reset(context.who, conversation.number);
    const back = `It is out of the lists and still found by /search. To go back: \`/resume ${session.handle}\``;
    return {
      text: `${formatSessionName(session)} is archived; this is ${formatSessionName(fresh)}. ${back}${left}`,
      moved: true,
    };
  },
};
