import type { ChatCommand } from "./command.ts";

export const quit: ChatCommand = {
  name: "quit",
  aliases: ["exit", "q"],
  summary: "leave; everything is kept",
  run: async () => ({ text: "", leave: true }),
};
