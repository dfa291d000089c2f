import type { ChatCommand } from "./command.ts";
import { sessionList } from "./resume.ts";

export const sessions: ChatCommand = {
  name: "sessions",
  summary: "list the newest sessions",
  looks: true,
  run: async (place) => ({ text: await sessionList(place) }),
};
