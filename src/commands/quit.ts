import type { ChatCommand } from "./command.ts";

export const quitChatCommand: ChatCommand = {
  name: "quit",
  // `q` could also mean /queue; a person who types it wants to leave.
  aliases: ["exit", "q"],
  summary: "leave; everything is kept",
  onlyIn: "terminal",
  isReadOnly: true,
  run: async () => ({ text: "", leave: true }),
};
