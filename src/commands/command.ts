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

/** Where a command was given, and by whom. */
export interface ChatCommandContext {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly chat: Pick<AgentChat, "open" | "findCurrent" | "stop" | "cancelPending" | "isAnswering">;
  readonly who: Asker;
  readonly role: AccessRole;
  readonly source: Source;
  /** Who answers here. */
  readonly agent: Agent;
  readonly policy: ResetPolicy;
  readonly zone: string;
  /** What becomes of a message that arrives while an answer is written, where the chat has chosen nothing. */
  readonly busy: BusyMode;
  /** Who said what, where several people share the conversation. */
  readonly speaker?: FindSpeaker | undefined;
  /** Instructions by name, for `/personality`. */
  readonly personalities: Readonly<Record<string, string>>;
  /** Messengers and home channels that the configuration names, where there is one. */
  readonly configured?: Pick<GatewaySettings, "homes" | "platforms">;
  now(): number;
  /** Random bytes, for codes. */
  random(bytes: number): Uint8Array;
  /** Answers in a session of its own, here, without keeping anyone waiting. Only where answers can be delivered later. */
  startBackgroundTask?(prompt: string): Promise<Session>;
  /** Programs that run for sessions, where they can be ended. */
  readonly processes?: Processes;
  /** Commands besides those of the table. */
  readonly customCommands?: readonly ChatCommand[];
}

/** What a command answers, in Markdown, and what the place is to do besides showing it. */
export interface CommandReply {
  readonly text: string;
  /** Another session is here now, or this one shows something else. */
  readonly moved?: boolean;
  /** Show what was said around this message. */
  readonly around?: { readonly session: string; readonly seq: number };
  /** To be said as if the person had typed it; `patiently`: whatever the busy mode, it waits for its turn. */
  readonly say?: string;
  readonly queued?: boolean;
  /** Lines to press, where there are buttons. */
  readonly choices?: readonly Choice[];
  readonly document?: { readonly name: string; readonly text: string };
  readonly leave?: boolean;
}

/** Something to pick; picking it is giving this line. */
export interface Choice {
  readonly line: string;
  readonly label: string;
  readonly about: string;
}

export interface ChatCommand extends NamedCommand {
  /** What may follow the name, as the help shows it. */
  readonly parameters?: string;
  readonly summary: string;
  /** Where alone it makes sense. */
  readonly onlyIn?: "terminal" | "messenger";
  /** Why it cannot be given in an editor, where a thread is one session, and what to do instead. */
  readonly editorRefusal?: string;
  /** Whether only the owner of the home may give it. */
  readonly ownerOnly?: boolean;
  /** It only looks: after a crash it is simply done again. */
  readonly isReadOnly?: boolean;
  /** It takes so long that what is said next must not wait for it. */
  readonly isSlow?: boolean;
  run(context: ChatCommandContext, args: string): Promise<CommandReply>;
  /** What to pick from instead of reading a list; empty when there is nothing to pick. */
  listChoices?(context: ChatCommandContext, args: string): Promise<readonly Choice[]>;
  /** What the person may be about to write after the name. */
  complete?(context: ChatCommandContext, begun: string): Promise<readonly Choice[]>;
}

/** The home channels that count. Where the owner reads is nobody else's business. */
export async function findHomeChannels({
  store,
  role,
  configured,
}: ChatCommandContext): Promise<readonly ResolvedHomeChannel[]> {
  return role === "owner"
    ? mergeHomeChannels(configured?.homes ?? [], await store.conversations.listHomeChannels())
    : [];
}

/** The conversation and the session that are current here. */
export async function requireCurrent(
  context: ChatCommandContext,
): Promise<{ conversation: Conversation; session: Session }> {
  const found = await context.chat.findCurrent();
  if (found !== undefined) return found;
  throw new PostriderError("not_found", "Nothing has been said here yet.");
}

/** The same for what is chosen before anything was said. The policy speaks only where there is nothing yet. */
export async function ensureCurrent(
  context: ChatCommandContext,
): Promise<{ conversation: Conversation; session: Session }> {
  return (await context.chat.findCurrent()) ?? context.chat.open();
}

/** Who gives a command. A place is always somebody's, also where the program asks for everyone. */
export function getAskerPerson({ who }: Pick<ChatCommandContext, "who">): PersonId {
  return isEveryone(who) ? OWNER : who.person;
}

/** Where a thread is one session, and stays it. */
export function isEditor({ source }: { readonly source: Pick<Source, "platform"> }): boolean {
  return source.platform === EDITOR_PLATFORM;
}

export function isTerminal({ source }: { readonly source: Pick<Source, "platform"> }): boolean {
  return source.platform === "local";
}

/** What to give to get to a session, or to a message of it. In an editor it is opened from the editor's own list. */
export function formatResumeCommand(
  context: Pick<ChatCommandContext, "source">,
  { handle, seq }: { handle: string; seq?: number },
): string {
  const message = seq === undefined ? handle : `${handle}/${seq}`;
  if (!isEditor(context)) return `/resume ${message}`;
  return seq === undefined ? handle : `/history ${message}`;
}

/** How people call a session: by its title, and by the handle that commands take. */
export function formatSessionName({ title, handle }: Pick<Session, "title" | "handle">): string {
  return title === undefined ? `\`${handle}\`` : `**${escapeMarkdown(title)}** (\`${handle}\`)`;
}

/** A text within a line, whatever Markdown would make of it. What means something only at a line's beginning stays. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|~&]/g, "\\$&");
}

/** The first words on one line. */
export function shortenLine(text: string, length = 40): string {
  // Two units make at most one character: what is behind them is not shown.
  const line = [
    ...text
      .replace(/\s+/g, " ")
      .trim()
      .slice(0, 2 * length + 2),
  ];
  return line.length > length ? `${line.slice(0, length - 1).join("")}…` : line.join("");
}

/** How many messages a session has, as people are told: a fork shows more than was said in it. */
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
