import type { ChatCommand } from "./command.ts";

export const stop: ChatCommand = {
  name: "stop",
  summary: "stop the answer that is being written",
  run: async ({ talk }) => ({ text: (await talk.stop()) ? "Stopped." : "Nothing is being answered." }),
};
