import { EDITOR_PLATFORM, platformTraits } from "./platforms.ts";
import { type Privacy, redactHome, redactSource } from "./redaction.ts";
import type { HomeChannel, SessionContext } from "./session-context.ts";
import { describeSource, type Source } from "./source.ts";

/** Describes the chat to the model. Never contains the session's key or id; changes only with the chat, for caching. */
export function contextPrompt(context: SessionContext, privacy: Privacy = {}): string {
  const source = redactSource(context.source, privacy);
  const homes = context.homeChannels.map((home) => redactHome(home, source.platform, privacy));
  const where = whereLines(source, context.shared ?? false).join("\n");
  const isMasked =
    homes.some((home, i) => home.chatId !== context.homeChannels[i]?.chatId) ||
    MASKABLE.some((field) => {
      const shown = source[field];
      return shown !== undefined && shown !== context.source[field] && where.includes(shown);
    });

  return [
    "## Current Session Context",
    where,
    PLATFORM_NOTES.get(source.platform),
    formatConnected(context.connectedPlatforms),
    formatHomes(homes),
    isMasked ? MASKED : undefined,
  ]
    .filter((section) => section !== undefined)
    .join("\n\n");
}

/** Limits of platforms on which people expect a bot to do more than it can. */
const PLATFORM_NOTES: ReadonlyMap<string, string> = new Map([
  [
    "slack",
    "**On Slack** you only see the messages that reach you in this conversation. You cannot search channel " +
      "history, handle pins, manage channels or list users. If asked for any of these, say that you cannot; " +
      "never promise it.",
  ],
  [
    "discord",
    "**On Discord** you only see the messages that reach you in this conversation. You cannot search channel " +
      "history, handle pins, manage roles or list members. If asked for any of these, say that you cannot; " +
      "never promise it.",
  ],
]);

/** Sources on this machine. An editor's chat id is the session id, which the model must not see. */
const OWN_SOURCES: ReadonlyMap<string, string> = new Map([
  ["local", "**Source:** Local (the machine on which you run)"],
  [EDITOR_PLATFORM, "**Source:** Editor (on the machine on which you run)"],
]);

function formatSourceLine(source: Source): string {
  return `**Source:** ${platformTraits(source.platform).label} (${describeSource(source)})`;
}

function whereLines(source: Source, shared: boolean): readonly string[] {
  const lines = [OWN_SOURCES.get(source.platform) ?? formatSourceLine(source)];
  if (source.chatTopic !== undefined) lines.push(`**Channel Topic:** ${source.chatTopic}`);
  if (shared) {
    // The last speaker's name would be wrong for everybody else and would change the prompt every turn.
    lines.push("**Users:** several people share this conversation; do not take them for one person");
  } else if (source.userName !== undefined) lines.push(`**User:** ${source.userName}`);
  else if (source.userId !== undefined) lines.push(`**User ID:** ${source.userId}`);
  return lines;
}

function formatConnected(platforms: readonly string[]): string {
  const others = platforms.filter((it) => it !== "local").map((it) => `${it}: Connected ✓`);
  return `**Connected Platforms:** ${["local (files on this machine)", ...others].join(", ")}`;
}

/** No tool sends to other chats, so the text says that the model cannot. */
function formatHomes(homes: readonly HomeChannel[]): string | undefined {
  if (homes.length === 0) return undefined;
  const bullets = homes.map(({ platform, name, chatId }) => `- ${platform}: ${name} (ID: ${chatId})`);
  return [
    "**Home Channels:**",
    ...bullets,
    "You cannot send messages to these chats. Your answer appears in this conversation only.",
  ].join("\n");
}

const MASKABLE = ["chatId", "chatName", "userId", "userName"] as const;
const MASKED = "The IDs shown above are masked; they are not the real ones.";
