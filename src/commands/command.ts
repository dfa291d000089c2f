import type { AccessRole } from "../core/access.ts";
import type { NamedCommand } from "../core/command-grammar.ts";
import type { BusyMode, Conversation } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import type { GatewaySettings } from "../core/gateway-settings.ts";
import { mergeHomeChannels, type ResolvedHomeChannel } from "../core/home-channel.ts";
import { type Asker, isEveryone, OWNER, type PersonId } from "../core/owner.ts";
import { EDITOR_PLATFORM } from "../core/platforms.ts";
import { pluralize } from "../core/pluralize.ts";
import type { ResetPolicy } from "../core/reset-policy.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { Agent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import type { Processes } from "../processes/processes.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { AgentChat } from "../turns/agent-chat.ts";
import type { FindSpeaker } from "../turns/speakers.ts";

/** The chat in which a command was given, and who gave it. */
export interface ChatCommandContext {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly chat: Pick<AgentChat, "open" | "findCurrent" | "stop" | "cancelPending"> & {
    /** Whether an answer is in progress: in this session, or in any. */
    isAnswering(session?: string): boolean | Promise<boolean>;
  };
  readonly who: Asker;
  readonly role: AccessRole;
  readonly source: Source;
  /** The agent that answers in this chat. */
  readonly agent: Agent;
  readonly policy: ResetPolicy;
  readonly zone: string;
  /** The configured busy mode, for a chat that has chosen none. */
  readonly busy: BusyMode;
  /** Names the author of a message, where several people share the conversation. */
  readonly speaker?: FindSpeaker | undefined;
  /** Instructions by name, for `/personality`. */
  readonly personalities: Readonly<Record<string, string>>;
  /** The configured messengers and home channels, where there is a configuration. */
  readonly configured?: Pick<GatewaySettings, "homes" | "platforms">;
  now(): number;
  /** Random bytes, for codes. */
  random(bytes: number): Uint8Array;
  /** Answers in a new session in the background. Only where the answer can be delivered later. */
  startBackgroundTask?(prompt: string): Promise<Session>;
  /** Background processes, where they can be ended. */
  readonly processes?: Processes;
  /** Commands besides those of the table. */
  readonly customCommands?: readonly ChatCommand[];
}

/** The reply of a command: a Markdown text, and what the chat does besides showing it (see `applyReply`). */
export interface CommandReply {
  readonly text: string;
  /** Another session is current now, or this one shows something else. */
  readonly moved?: boolean;
  /** Show the messages around this one. */
  readonly around?: { readonly session: string; readonly seq: number };
  /** Submit this text as if the person had typed it. */
  readonly say?: string;
  /** `say` waits for its turn, whatever the busy mode is. */
  readonly queued?: boolean;
  /** Buttons, or a list where there are none. */
  readonly choices?: readonly Choice[];
  readonly document?: { readonly name: string; readonly text: string };
  readonly leave?: boolean;
}

/** An entry of a list or a button; picking it gives the command in `line`. */
export interface Choice {
  readonly line: string;
  readonly label: string;
  readonly about: string;
}

export interface ChatCommand extends NamedCommand {
  /** The parameters, as the help shows them. */
  readonly parameters?: string;
  readonly summary: string;
  /** The only kind of chat that has the command. */
  readonly onlyIn?: "terminal" | "messenger";
  /** Why an editor, where a thread is one session, refuses the command, and what to do instead. */
  readonly editorRefusal?: string;
  /** Only the owner of the home may give it. */
  readonly ownerOnly?: boolean;
  /** It changes nothing: after a crash it runs again. */
  readonly isReadOnly?: boolean;
  /** It takes so long that later messages must not wait for it. */
  readonly isSlow?: boolean;
  run(context: ChatCommandContext, args: string): Promise<CommandReply>;
  /** Choices for a list to pick from; empty when there is nothing to pick. */
  listChoices?(context: ChatCommandContext, args: string): Promise<readonly Choice[]>;
  /** Completions of the text after the name. */
  complete?(context: ChatCommandContext, typed: string): Promise<readonly Choice[]>;
}

/** The home channels in effect. Only the owner sees them. */
export async function findHomeChannels({
  store,
  role,
  configured,
}: ChatCommandContext): Promise<readonly ResolvedHomeChannel[]> {
  return role === "owner"
    ? mergeHomeChannels(configured?.homes ?? [], await store.conversations.listHomeChannels())
    : [];
}

/** The current conversation and session of this chat. Throws before the first message. */
export async function requireCurrent(
  context: ChatCommandContext,
): Promise<{ conversation: Conversation; session: Session }> {
  const found = await context.chat.findCurrent();
  if (found !== undefined) return found;
  throw new PostriderError("not_found", "Nothing has been said here yet.");
}

/** The same, but opens a conversation before the first message. */
export async function ensureCurrent(
  context: ChatCommandContext,
): Promise<{ conversation: Conversation; session: Session }> {
  return (await context.chat.findCurrent()) ?? context.chat.open();
}

/** The person who gave the command; the owner, where the command line asks for everyone. */
export function getAskerPerson({ who }: Pick<ChatCommandContext, "who">): PersonId {
  return isEveryone(who) ? OWNER : who.person;
}

/** An editor: each thread is one session and stays it. */
export function isEditor({ source }: { readonly source: Pick<Source, "platform"> }): boolean {
  return source.platform === EDITOR_PLATFORM;
}

export function isTerminal({ source }: { readonly source: Pick<Source, "platform"> }): boolean {
  return source.platform === "local";
}

/** The command that goes to a session, or to a message of it. An editor opens sessions from its own list. */
export function formatResumeCommand(
  context: Pick<ChatCommandContext, "source">,
  { handle, seq }: { handle: string; seq?: number },
): string {
  const message = seq === undefined ? handle : `${handle}/${seq}`;
  if (!isEditor(context)) return `/resume ${message}`;
  return seq === undefined ? handle : `/history ${message}`;
}

/** A session as replies name it: its title, and the handle that commands take. */
export function formatSessionName({ title, handle }: Pick<Session, "title" | "handle">): string {
  return title === undefined ? `\`${handle}\`` : `**${escapeMarkdown(title)}** (\`${handle}\`)`;
}

/** Escapes Markdown within a line, but not characters that have a meaning only at the start of a line. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|~&]/g, "\\$&");
}

/** The beginning of a text on one line. */
export function shortenLine(text: string, length = 40): string {
  // A character has at most two units: text behind so many units is not shown.
  const line = [
    ...text
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, 2 * length + 2),
  ];
  return line.length > length ? `${line.slice(0, length - 1).join("")}…` : line.join("");
}

/** The number of messages of a session; a fork shows more than it has of its own. */
export async function formatMessageCount(
  { sessions, who }: ChatCommandContext,
  session: Session,
): Promise<string> {
  const shown = (await sessions.shownLength(who, session.id)) ?? session.messageCount;
  const said = pluralize(session.messageCount, "message");
  return shown === session.messageCount ? said : `${said} said here, ${shown.toLocaleString("en-US")} shown`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `3h ago`, `in 2d`, `now`. */
export function formatTimeUntil(at: number, now: number): string {
  const away = Math.abs(at - now);
  if (away < MINUTE) return "now";
  const length =
    away < HOUR
      ? `${Math.floor(away / MINUTE)}m`
      : away < DAY
        ? `${Math.floor(away / HOUR)}h`
        : `${Math.floor(away / DAY)}d`;
  return at > now ? `in ${length}` : `${length} ago`;
}
