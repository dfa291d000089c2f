import type { ChatCommand } from "./command.ts";
import { formatSessionList } from "./resume.ts";

export const sessionsChatCommand: ChatCommand = {
  name: "sessions",
  summary: "list the newest sessions",
  isReadOnly: true,
  run: async (context) => ({ text: await formatSessionList(context) }),
};
