import type { ChatCommand } from "./command.ts";

export const quitChatCommand: ChatCommand = {
  name: "quit",
  // The one short name that both leaving and queueing might have: whoever types it wants to leave.
  aliases: ["exit", "q"],
  summary: "leave; everything is kept",
  onlyIn: "terminal",
  isReadOnly: true,
  run: async () => ({ text: "", leave: true }),
};
