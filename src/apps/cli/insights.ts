import { formatCost, formatPurposes, formatTokenUsage } from "../../core/format-usage.ts";
import type { Insights } from "../../core/insights.ts";
import { countersToJson } from "../../core/json.ts";
import { toOneLine } from "../../core/printable.ts";
import { systemZone } from "../../system/system-clock.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, usageError } from "./command.ts";
import { loadLocalConfig } from "./config/local-config.ts";
import { printJson, printLine } from "./io.ts";
import { toAsker, withStore } from "./open-home.ts";
import { PLATFORM_OPTION, parsePlatform } from "./sessions/filters.ts";
import { formatFacts } from "./table.ts";

const DAY = 24 * 60 * 60_000;
const DAYS = 30;
const MAX_DAYS = 3650;

export const insightsCommand: Command = defineCommand({
  name: "insights",
  about: "Counts messages, tokens and cost of the last days, by purpose and by day.",
  options: {
    days: { type: "count", help: "the number of days (default 30)" },
    platform: PLATFORM_OPTION,
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider insights", "your last 30 days"],
    ["postrider insights --days 7 --everyone", "the last week of all people"],
  ],
  async run({ values }, io) {
    const { days = DAYS, everyone } = values;
    if (days < 1 || days > MAX_DAYS)
      throw usageError(`--days must be from 1 to ${MAX_DAYS}, not ${days}`, "insights");
    const zone = (await loadLocalConfig(io))?.gateway.zone ?? systemZone();
    const since = io.now() - days * DAY;
    const asked = { asker: toAsker(everyone), since, zone, ...parsePlatform(values.platform) };
    const found = await withStore(io, ({ store }) => store.sessions.getInsights(asked));
    if (values.json) return printJson(io, { since, zone, ...formatInsightsJson(found) });
    printLine(io, formatInsights(found).join("\n"));
  },
});

function formatInsightsJson(found: Insights): Record<string, unknown> {
  return {
    sessions: found.sessions,
    messages: found.messages,
    human_messages: found.humanMessages,
    tool_calls: found.toolCalls,
    usage: countersToJson(found.usage),
    usage_by_purpose: found.usageByPurpose.map(({ purpose, usage }) => ({
      purpose,
      ...countersToJson(usage),
    })),
    usage_by_day: found.usageByDay.map(({ day, usage }) => ({ day, ...countersToJson(usage) })),
    by_platform: found.byPlatform,
    busiest: found.busiest.map(({ handle, title, messages }) => ({ handle, title: title ?? null, messages })),
  };
}

function formatInsights(found: Insights): string[] {
  const number = (value: number): string => value.toLocaleString("en");
  const platforms = found.byPlatform.map((one) => `${one.platform} ${number(one.messages)}`);
  return formatFacts([
    ["sessions", number(found.sessions)],
    ["messages", `${number(found.messages)}, ${number(found.humanMessages)} by people`],
    ["tool calls", number(found.toolCalls)],
    ["by platform", platforms.join(", ") || "none"],
    ...found.busiest.map(({ handle, title, messages }): [string, string] => [
      "busiest",
      toOneLine(`${handle} ${title ?? ""} (${number(messages)})`),
    ]),
    ["tokens", found.usage.totalTokens === 0 ? "none" : number(found.usage.totalTokens)],
    ["used for", formatPurposes(found.usageByPurpose)],
    ["cost", found.usage.totalTokens === 0 ? undefined : formatCost(found.usage)],
    ...found.usageByDay.map(({ day, usage }): [string, string] => [day, formatTokenUsage(usage)]),
  ]);
}
