import { findCommand, nearestName } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { archive } from "./archive.ts";
import type { ChatCommand, Place, Reply } from "./command.ts";
import { exportSession } from "./export.ts";
import { fork } from "./fork.ts";
import { history } from "./history.ts";
import { newSession } from "./new.ts";
import { quit } from "./quit.ts";
import { redo } from "./redo.ts";
import { resume } from "./resume.ts";
import { retry } from "./retry.ts";
import { search } from "./search.ts";
import { sessions } from "./sessions.ts";
import { status } from "./status.ts";
import { stop } from "./stop.ts";
import { title } from "./title.ts";
import { undo } from "./undo.ts";
import { usage } from "./usage.ts";
import { where } from "./where.ts";

const help: ChatCommand = {
  name: "help",
  aliases: ["commands"],
  summary: "this list",
  run: async () => ({ text: helpText() }),
};

/** Every command of a chat, in the order of the help. The help, the completion and the menus are made of it. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  newSession,
  resume,
  sessions,
  search,
  history,
  title,
  undo,
  redo,
  retry,
  fork,
  stop,
  status,
  usage,
  where,
  exportSession,
  archive,
  help,
  quit,
];

export function chatCommand(name: string): ChatCommand {
  const found = findCommand(CHAT_COMMANDS, name);
  if (found !== undefined) return found;
  const near = nearestName(
    CHAT_COMMANDS.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
    name,
  );
  const hint = near === undefined ? "/help lists them." : `Did you mean /${near}?`;
  throw new PostriderError(
    "not_found",
    `There is no command /${name}. ${hint} To say it as it is, write //${name}.`,
  );
}

export function runChatCommand(place: Place, name: string, args: string): Promise<Reply> {
  return chatCommand(name).run(place, args);
}

function helpText(): string {
  return CHAT_COMMANDS.map(({ name, takes, aliases, summary }) => {
    const also = aliases === undefined ? "" : ` (also ${aliases.map((alias) => `/${alias}`).join(", ")})`;
    return `- \`/${name}${takes === undefined ? "" : ` ${takes}`}\` ${summary}${also}`;
  }).join("\n");
}
