import type { AccessRole } from "../core/access.ts";
import { PostriderError } from "../core/errors.ts";
import type { Asker } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { ChatCommand } from "./command.ts";

/** A chat command of a plugin or of an embedding application: `/name` in every chat. */
export interface CustomCommand {
  /** Without the slash: lower-case letters, digits, `_` and `-`. */
  readonly name: string;
  /** What the help and the menus say of it. */
  readonly summary: string;
  /** The text after the name, as the help shows it: `[CITY]`. */
  readonly parameters?: string;
  /** Only the owner of the home may use it. Default false. */
  readonly ownerOnly?: boolean;
  /** It changes nothing: after a crash the gateway runs it again without asking. Default false. */
  readonly isReadOnly?: boolean;
  /** Returns the answer, in Markdown. A `PostriderError` is shown to the person; other errors go to the log. */
  run(args: string, context: CustomCommandContext): Promise<string> | string;
}

/** Who uses the command, and where. */
export interface CustomCommandContext {
  readonly sessions: Sessions;
  /** For every method of `sessions`: it sees only the sessions of this person in this chat. */
  readonly who: Asker;
  readonly role: AccessRole;
  readonly source: Source;
  /** The current session of the chat, if there is one. */
  findSession(): Promise<Session | undefined>;
}

/** The command as the chat's table of commands holds it. */
export function toChatCommand(command: CustomCommand): ChatCommand {
  const { name, summary, parameters, ownerOnly, isReadOnly } = command;
  if (!/^[a-z0-9][a-z0-9_-]{0,31}$/.test(name))
    throw new PostriderError(
      "invalid_input",
      `A command's name consists of 1 to 32 lower-case letters, digits, "_" and "-", not "${name}".`,
    );
  return {
    name,
    summary,
    ...(parameters !== undefined && { parameters }),
    ...(ownerOnly !== undefined && { ownerOnly }),
    ...(isReadOnly !== undefined && { isReadOnly }),
    async run({ sessions, who, role, source, chat }, args) {
      const findSession = async (): Promise<Session | undefined> => (await chat.findCurrent())?.session;
      return { text: await command.run(args, { sessions, who, role, source, findSession }) };
    },
  };
}
