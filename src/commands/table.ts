import type { Role } from "../core/access.ts";
import { findCommand, nearestName } from "../core/command-grammar.ts";
import { PostriderError } from "../core/errors.ts";
import { approvals } from "./approvals.ts";
import { approve, deny } from "./approve.ts";
import { archive } from "./archive.ts";
import { background } from "./background.ts";
import { busy } from "./busy.ts";
import { type ChatCommand, isEditor, isTerminal, type Place, type Reply } from "./command.ts";
import { compress } from "./compress.ts";
import { exportSession } from "./export.ts";
import { fork } from "./fork.ts";
import { helpOn } from "./help.ts";
import { history } from "./history.ts";
import { insights } from "./insights.ts";
import { memory } from "./memory.ts";
import { model } from "./model.ts";
import { newSession } from "./new.ts";
import { pair } from "./pair.ts";
import { personality } from "./personality.ts";
import { platforms } from "./platforms.ts";
import { processes } from "./processes.ts";
import { queue } from "./queue.ts";
import { quit } from "./quit.ts";
import { redo } from "./redo.ts";
import { resume } from "./resume.ts";
import { retry } from "./retry.ts";
import { search } from "./search.ts";
import { sessions } from "./sessions.ts";
import { sethome } from "./sethome.ts";
import { startWith } from "./start.ts";
import { status } from "./status.ts";
import { stop } from "./stop.ts";
import { title } from "./title.ts";
import { undo } from "./undo.ts";
import { usage } from "./usage.ts";
import { where } from "./where.ts";
import { why } from "./why.ts";

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
  compress,
  stop,
  queue,
  busy,
  background,
  processes,
  approve,
  deny,
  approvals,
  model,
  memory,
  personality,
  status,
  usage,
  insights,
  where,
  why,
  exportSession,
  archive,
  platforms,
  sethome,
  pair,
  startWith((place) => commandsIn(place)),
  helpOn((place) => commandsIn(place)),
  quit,
];

/** Who gives a command, and in what kind of place. */
export interface Standing {
  readonly role: Role;
  readonly kind: "terminal" | "messenger" | "editor";
}

/** The commands that may be given so. */
export function commandsFor(standing: Standing): readonly ChatCommand[] {
  return CHAT_COMMANDS.filter((command) => refusal(command, standing) === undefined);
}

/** The commands that may be given in this place. */
export function commandsIn(place: Pick<Place, "role" | "source">): readonly ChatCommand[] {
  return commandsFor(standingIn(place));
}

export function chatCommand(name: string): ChatCommand {
  return named(name, CHAT_COMMANDS);
}

/** The command of this name, if it may be given here. */
export function commandFor(place: Pick<Place, "role" | "source">, name: string): ChatCommand {
  const command = named(name, commandsIn(place));
  const refused = refusal(command, standingIn(place));
  if (refused !== undefined) throw new PostriderError("not_allowed", refused);
  return command;
}

export async function runChatCommand(place: Place, name: string, args: string): Promise<Reply> {
  return commandFor(place, name).run(place, args);
}

/** What was probably meant is one of the names that are offered. */
function named(name: string, offered: readonly ChatCommand[]): ChatCommand {
  const found = findCommand(CHAT_COMMANDS, name);
  if (found !== undefined) return found;
  const near = nearestName(
    offered.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
    name,
  );
  const hint = near === undefined ? "/help lists them." : `Did you mean /${near}?`;
  throw new PostriderError(
    "not_found",
    `There is no command /${name}. ${hint} To say it as it is, write //${name}.`,
  );
}

function standingIn(place: Pick<Place, "role" | "source">): Standing {
  return {
    role: place.role,
    kind: isTerminal(place) ? "terminal" : isEditor(place) ? "editor" : "messenger",
  };
}

/** Why it may not be given, if it may not. */
function refusal(command: ChatCommand, { role, kind }: Standing): string | undefined {
  const { name, only, inEditors, ownerOnly } = command;
  if (kind === "editor" && inEditors !== undefined) return inEditors;
  if (only === "terminal" && kind !== only) return `/${name} works in the terminal only.`;
  if (only === "messenger" && kind !== only) return `/${name} works in messengers only.`;
  if (ownerOnly && role !== "owner") return `Only the owner of this home may give /${name}.`;
  return undefined;
}
