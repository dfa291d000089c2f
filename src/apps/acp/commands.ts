import type { AvailableCommand } from "@agentclientprotocol/sdk/unstable";
import type { ChatCommand } from "../../commands/command.ts";
import { listCommandsFor } from "../../commands/table.ts";

/** The commands of the table that may be given in an editor, as its menu shows them. */
export function listEditorCommands(custom: readonly ChatCommand[]): AvailableCommand[] {
  return listCommandsFor({ role: "owner", kind: "editor" }, custom).map(({ name, summary, parameters }) => ({
    name,
    description: summary,
    ...(parameters !== undefined && { input: { hint: parameters } }),
  }));
}
