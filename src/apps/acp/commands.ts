import type { AvailableCommand } from "@agentclientprotocol/sdk/unstable";
import { commandsFor } from "../../commands/table.ts";

/** The commands of the table that may be given in an editor, as its menu shows them. */
export function availableCommands(): AvailableCommand[] {
  return commandsFor({ role: "owner", kind: "editor" }).map(({ name, summary, takes }) => ({
    name,
    description: summary,
    ...(takes !== undefined && { input: { hint: takes } }),
  }));
}
