import { PostriderError } from "../core/errors.ts";
import { formatPurposes, formatTokenUsage } from "../core/format-usage.ts";
import type { Insights } from "../core/insights.ts";
import { pluralize } from "../core/pluralize.ts";
import { type ChatCommand, escapeMarkdown } from "./command.ts";

const DAY = 24 * 60 * 60_000;
const DAYS = 30;
/** A chat has no room for a line for each of many days. */
const MOST_DAYS_TOLD = 7;
const MOST_DAYS = 3650;
const PLATFORM = /^[a-z][a-z0-9_-]{0,63}$/;

export const insightsChatCommand: ChatCommand = {
  name: "insights",
  aliases: ["stats"],
  parameters: "[DAYS] [PLATFORM]",
  summary: "what was said and used in the last days, 30 unless said",
  isReadOnly: true,
  async run(context, args) {
    const { days, platform } = parseArguments(args);
    const found = await context.store.sessions.getInsights({
      asker: context.who,
      since: context.now() - days * DAY,
      zone: context.zone,
      ...(platform !== undefined && { platform }),
    });
    const span = `in the last ${pluralize(days, "day")}${platform === undefined ? "" : ` on ${platform}`}`;
    if (found.sessions === 0 && found.usage.totalTokens === 0) return { text: `Nothing was said ${span}.` };
    return { text: formatInsights(found, span) };
  },
};

interface InsightsArguments {
  readonly days: number;
  readonly platform?: string;
}

/** `7`, `7 telegram`, `telegram`, `--days 7 --source telegram`. */
function parseArguments(args: string): InsightsArguments {
  let days = DAYS;
  let platform: string | undefined;
  const words = args.split(/\s+/).filter(Boolean);
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const [, option, joined] = /^(?:--|—)(days|source|platform)(?:=(.*))?$/.exec(word) ?? [];
    const value = option === undefined ? word : (joined ?? words.shift() ?? "");
    const isName = PLATFORM.test(value.toLowerCase());
    if (option === undefined ? isName : option !== "days") {
      if (!isName || platform !== undefined)
        throw createInputError(`"${value.slice(0, 40)}" is no platform.`);
      platform = value.toLowerCase();
    } else days = parseDays(value);
  }
  return { days, ...(platform !== undefined && { platform }) };
}

function parseDays(text: string): number {
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= MOST_DAYS) return days;
  throw createInputError(`"${text.slice(0, 40)}" is no number of days from 1 to ${MOST_DAYS}.`);
}

function createInputError(what: string): PostriderError {
  return new PostriderError("invalid_input", `${what} Write it like /insights 7 or /insights 7 telegram.`);
}

function formatInsights(found: Insights, span: string): string {
  const { usage } = found;
  const purposes = formatPurposes(found.usageByPurpose);
  const days = found.usageByDay.length < 2 ? [] : found.usageByDay.slice(-MOST_DAYS_TOLD);
  const platforms = found.byPlatform.map(
    (one) => `${one.platform} ${pluralize(one.messages, "message")} in ${pluralize(one.sessions, "session")}`,
  );
  return [
    `What was said ${span}:`,
    `- ${pluralize(found.sessions, "session")}, ${pluralize(found.messages, "message")}, ${found.humanMessages.toLocaleString("en-US")} of them by people`,
    `- ${pluralize(found.toolCalls, "tool call")}`,
    `- ${formatTokenUsage(usage)}`,
    ...(purposes === undefined ? [] : [`- for ${purposes}`]),
    ...days.map(({ day, usage: used }) => `- ${day}: ${formatTokenUsage(used)}`),
    ...(platforms.length < 2 ? [] : [`- ${platforms.join("; ")}`]),
    ...found.busiest.map(
      ({ handle, title, messages }) =>
        `- \`/resume ${handle}\` ${title === undefined ? "" : `**${escapeMarkdown(title)}** `}(${pluralize(messages, "message")})`,
    ),
  ].join("\n");
}
