import { type ChatCommand, escapeMarkdown, requireCurrent } from "./command.ts";

export const titleChatCommand: ChatCommand = {
  name: "title",
  aliases: ["rename"],
  parameters: "[TEXT]",
  summary: "show or set this session's title",
  async run(context, args) {
    const { session } = await requireCurrent(context);
    if (args === "") {
      const now =
        session.title === undefined ? "has no title" : `is called **${escapeMarkdown(session.title)}**`;
      return { text: `This session (\`${session.handle}\`) ${now}. \`/title SOME WORDS\` sets it.` };
    }
    const { title: set } = await context.sessions.title(context.who, session.id, args);
    if (set === undefined)
      return { text: "Nothing readable is left of that, so the session has no title now." };
    return { text: `This session is called **${escapeMarkdown(set)}** now.` };
  },
};
