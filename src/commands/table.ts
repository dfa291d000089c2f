import type { AccessRole } from "../core/access.ts";
import { findCommand, findNearestName } from "../core/command-grammar.ts";
import { PostriderError } from "../core/errors.ts";
import { approvalsChatCommand } from "./approvals.ts";
import { approveChatCommand, denyChatCommand } from "./approve.ts";
import { archiveChatCommand } from "./archive.ts";
import { backgroundChatCommand } from "./background.ts";
import { busyChatCommand } from "./busy.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type CommandReply,
  isEditor,
  isTerminal,
} from "./command.ts";
import { compressChatCommand } from "./compress.ts";
import { exportChatCommand } from "./export.ts";
import { forkChatCommand } from "./fork.ts";
import { buildHelpChatCommand } from "./help.ts";
import { historyChatCommand } from "./history.ts";
import { insightsChatCommand } from "./insights.ts";
import { memoryChatCommand } from "./memory.ts";
import { modelChatCommand } from "./model.ts";
import { newChatCommand } from "./new.ts";
import { pairChatCommand } from "./pair.ts";
import { personalityChatCommand } from "./personality.ts";
import { platformsChatCommand } from "./platforms.ts";
import { processesChatCommand } from "./processes.ts";
import { queueChatCommand } from "./queue.ts";
import { quitChatCommand } from "./quit.ts";
import { redoChatCommand } from "./redo.ts";
import { resumeChatCommand } from "./resume.ts";
import { retryChatCommand } from "./retry.ts";
import { searchChatCommand } from "./search.ts";
import { sessionsChatCommand } from "./sessions.ts";
import { sethomeChatCommand } from "./sethome.ts";
import { buildStartChatCommand } from "./start.ts";
import { statusChatCommand } from "./status.ts";
import { stopChatCommand } from "./stop.ts";
import { titleChatCommand } from "./title.ts";
import { undoChatCommand } from "./undo.ts";
import { usageChatCommand } from "./usage.ts";
import { whereChatCommand } from "./where.ts";
import { whyChatCommand } from "./why.ts";

/** Every command of a chat, in the order of the help. The help, the completion and the menus are made of it. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  newChatCommand,
  resumeChatCommand,
  sessionsChatCommand,
  searchChatCommand,
  historyChatCommand,
  titleChatCommand,
  undoChatCommand,
  redoChatCommand,
  retryChatCommand,
  forkChatCommand,
  compressChatCommand,
  stopChatCommand,
  queueChatCommand,
  busyChatCommand,
  backgroundChatCommand,
  processesChatCommand,
  approveChatCommand,
  denyChatCommand,
  approvalsChatCommand,
  modelChatCommand,
  memoryChatCommand,
  personalityChatCommand,
  statusChatCommand,
  usageChatCommand,
  insightsChatCommand,
  whereChatCommand,
  whyChatCommand,
  exportChatCommand,
  archiveChatCommand,
  platformsChatCommand,
  sethomeChatCommand,
  pairChatCommand,
  buildStartChatCommand((context) => listAvailableCommands(context)),
  buildHelpChatCommand((context) => listAvailableCommands(context)),
  quitChatCommand,
];

/** Who gives a command, and in what kind of place. */
export interface CommandCaller {
  readonly role: AccessRole;
  readonly kind: "terminal" | "messenger" | "editor";
}

/** The commands that may be given so. */
export function listCommandsFor(
  standing: CommandCaller,
  custom: readonly ChatCommand[] = [],
): readonly ChatCommand[] {
  return [...CHAT_COMMANDS, ...custom].filter((command) => findRefusal(command, standing) === undefined);
}

/** The commands that may be given in this place. */
export function listAvailableCommands(
  context: Pick<ChatCommandContext, "role" | "source" | "customCommands">,
): readonly ChatCommand[] {
  return listCommandsFor(getCaller(context), context.customCommands);
}

export function getChatCommand(name: string): ChatCommand {
  return findCommandByName(name, CHAT_COMMANDS);
}

/** The command of this name or alias. The table's own commands come first. */
export function findChatCommand(name: string, custom: readonly ChatCommand[] = []): ChatCommand | undefined {
  return findCommand(CHAT_COMMANDS, name) ?? findCommand(custom, name);
}

/** The command of this name, if it may be given here. */
export function getAllowedCommand(
  context: Pick<ChatCommandContext, "role" | "source" | "customCommands">,
  name: string,
): ChatCommand {
  const command = findCommandByName(name, listAvailableCommands(context), context.customCommands);
  const refused = findRefusal(command, getCaller(context));
  if (refused !== undefined) throw new PostriderError("not_allowed", refused);
  return command;
}

export async function runChatCommand(
  context: ChatCommandContext,
  name: string,
  args: string,
): Promise<CommandReply> {
  return getAllowedCommand(context, name).run(context, args);
}

/** What was probably meant is one of the names that are offered. */
function findCommandByName(
  name: string,
  offered: readonly ChatCommand[],
  custom: readonly ChatCommand[] = [],
): ChatCommand {
  const found = findChatCommand(name, custom);
  if (found !== undefined) return found;
  const near = findNearestName(
    offered.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
    name,
  );
  const hint = near === undefined ? "/help lists them." : `Did you mean /${near}?`;
  throw new PostriderError(
    "not_found",
    `There is no command /${name}. ${hint} To say it as it is, write //${name}.`,
  );
}

function getCaller(context: Pick<ChatCommandContext, "role" | "source">): CommandCaller {
  return {
    role: context.role,
    kind: isTerminal(context) ? "terminal" : isEditor(context) ? "editor" : "messenger",
  };
}

/** Why it may not be given, if it may not. */
function findRefusal(command: ChatCommand, { role, kind }: CommandCaller): string | undefined {
  const { name, onlyIn, editorRefusal, ownerOnly } = command;
  if (kind === "editor" && editorRefusal !== undefined) return editorRefusal;
  if (onlyIn === "terminal" && kind !== onlyIn) return `/${name} works in the terminal only.`;
  if (onlyIn === "messenger" && kind !== onlyIn) return `/${name} works in messengers only.`;
  if (ownerOnly && role !== "owner") return `Only the owner of this home may give /${name}.`;
  return undefined;
}
