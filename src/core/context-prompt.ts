import { platformTraits } from "./platforms.ts";
import { type Privacy, redactHome, redactSource } from "./redaction.ts";
import type { HomeChannel, SessionContext } from "./session-context.ts";
import { describeSource, type Source } from "./source.ts";

/** Where a scheduled task's output goes when nothing is sent, as people write the path. */
export const JOB_OUTPUT = "~/.postrider/jobs/output/";

/**
 * What the model is told about where it speaks, with whom, and where it can send things. The session's key and
 * id are never in it, and it says the same as long as the conversation's surroundings are the same, so that
 * providers can cache it.
 */
export function contextPrompt(context: SessionContext, privacy: Privacy = {}): string {
  const source = redactSource(context.source, privacy);
  const homes = context.homeChannels.map((home) => redactHome(home, source.platform, privacy));
  const masked =
    source.chatId !== context.source.chatId ||
    homes.some((home, i) => home.chatId !== context.homeChannels[i]?.chatId);

  return [
    "## Current Session Context",
    whereLines(source, context.shared ?? false).join("\n"),
    PLATFORM_NOTES.get(source.platform),
    connectedLine(context.connectedPlatforms),
    homeLines(homes),
    deliveryLines(source, homes).join("\n"),
    explicitTarget(masked),
  ]
    .filter((section) => section !== undefined)
    .join("\n\n");
}

/** Said where people expect more of a bot than its platform lets it do. */
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

function whereLines(source: Source, shared: boolean): readonly string[] {
  const lines = [
    source.platform === "local"
      ? "**Source:** Local (the machine on which you run)"
      : `**Source:** ${platformTraits(source.platform).label} (${describeSource(source)})`,
  ];
  if (source.chatTopic !== undefined) lines.push(`**Channel Topic:** ${source.chatTopic}`);
  if (shared) {
    // Naming whoever spoke last would be wrong for everyone else, and would change the prompt at every turn.
    lines.push("**Users:** several people share this conversation; do not take them for one person");
  } else if (source.userName !== undefined) lines.push(`**User:** ${source.userName}`);
  else if (source.userId !== undefined) lines.push(`**User ID:** ${source.userId}`);
  return lines;
}

function connectedLine(platforms: readonly string[]): string {
  const others = platforms.filter((it) => it !== "local").map((it) => `${it}: Connected ✓`);
  return `**Connected Platforms:** ${["local (files on this machine)", ...others].join(", ")}`;
}

function homeLines(homes: readonly HomeChannel[]): string | undefined {
  if (homes.length === 0) return undefined;
  const bullets = homes.map(({ platform, name, chatId }) => `- ${platform}: ${name} (ID: ${chatId})`);
  return ["**Home Channels:**", ...bullets].join("\n");
}

function deliveryLines(source: Source, homes: readonly HomeChannel[]): readonly string[] {
  const origin =
    source.platform === "local"
      ? "the output is saved as a file on this machine"
      : `back to this chat (${source.chatName ?? source.chatId})`;
  return [
    "**Delivery options for scheduled tasks:**",
    `- "origin": ${origin}`,
    `- "local": only saved, as a file under ${JOB_OUTPUT}`,
    ...homes.map(({ platform, name }) => `- "${platform}": the home channel there (${name})`),
  ];
}

function explicitTarget(masked: boolean): string {
  const form = 'Any other chat can be named explicitly as "platform:chat_id", if you know its real ID.';
  return masked ? `${form} The IDs shown above are masked and are no targets.` : form;
}
