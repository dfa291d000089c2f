import type { Named } from "../../core/command-grammar.ts";
import type { Conversation } from "../../core/conversation.ts";
import { PostriderError } from "../../core/errors.ts";
import type { Asker } from "../../core/owner.ts";
import type { ResetPolicy } from "../../core/reset-policy.ts";
import type { Session } from "../../core/session.ts";
import type { Store } from "../../ports/store.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { Talk } from "../talk.ts";

/** Where a command was given, and by whom. */
export interface Place {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly talk: Talk;
  readonly who: Asker;
  /** Who answers here. */
  readonly agent: string;
  readonly policy: ResetPolicy;
  readonly zone: string;
  now(): number;
}

/** What a command answers, in Markdown, and what the place is to do besides showing it. */
export interface Reply {
  readonly text: string;
  /** Another session is here now, or this one shows something else. */
  readonly moved?: boolean;
  /** Show what was said around this message. */
  readonly around?: { readonly session: string; readonly seq: number };
  /** To be said as if the person had typed it. */
  readonly say?: string;
  readonly document?: { readonly name: string; readonly text: string };
  readonly leave?: boolean;
}

/** Something to pick; picking it is giving this line. */
export interface Choice {
  readonly line: string;
  readonly label: string;
  readonly about: string;
}

export interface ChatCommand extends Named {
  /** What may follow the name, as the help shows it. */
  readonly takes?: string;
  readonly summary: string;
  run(place: Place, args: string): Promise<Reply>;
  /** What to pick from instead of reading a list; empty when there is nothing to pick. */
  choose?(place: Place, args: string): Promise<readonly Choice[]>;
  /** What the person may be about to write after the name. */
  complete?(place: Place, begun: string): Promise<readonly Choice[]>;
}

/** The conversation and the session that are current here. */
export async function here(place: Place): Promise<{ conversation: Conversation; session: Session }> {
  const found = await place.talk.look();
  if (found !== undefined) return found;
  throw new PostriderError("not_found", "Nothing has been said here yet.");
}

/** How people call a session: by its title, and by the handle that commands take. */
export function nameOf({ title, handle }: Pick<Session, "title" | "handle">): string {
  return title === undefined ? `\`${handle}\`` : `**${escaped(title)}** (\`${handle}\`)`;
}

/** A text within a line, whatever Markdown would make of it. What means something only at a line's beginning stays. */
export function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>|~&]/g, "\\$&");
}

/** The first words on one line. */
export function shortened(text: string, length = 40): string {
  const line = [...text.replace(/\s+/g, " ").trim()];
  return line.length > length ? `${line.slice(0, length - 1).join("")}…` : line.join("");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
