import type { Insights } from "../../core/insights.ts";
import { countersToJson } from "../../core/json.ts";
import { onOneLine } from "../../core/printable.ts";
import { costWords, purposeWords, usedWords } from "../../core/usage-words.ts";
import { systemZone } from "../../system/system-clock.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION, wrongArguments } from "./command.ts";
import { configHere } from "./config/here.ts";
import { say, sayJson } from "./io.ts";
import { asker, withStore } from "./opening.ts";
import { PLATFORM_OPTION, platformOf } from "./sessions/filters.ts";
import { facts } from "./table.ts";

const DAY = 24 * 60 * 60_000;
const DAYS = 30;
const MOST_DAYS = 3650;

export const insights: Command = defineCommand({
  name: "insights",
  about: "What was said in the last days, and which tokens and cost that took, by purpose and by day.",
  options: {
    days: { type: "count", help: "how many days back, 30 unless said" },
    platform: PLATFORM_OPTION,
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider insights", "yours of the last 30 days"],
    ["postrider insights --days 7 --everyone", "everyone's of the last week"],
  ],
  async run({ values }, io) {
    const { days = DAYS, everyone } = values;
    if (days < 1 || days > MOST_DAYS)
      throw wrongArguments(`--days must be from 1 to ${MOST_DAYS}, not ${days}`, "insights");
    const zone = (await configHere(io))?.gateway.zone ?? systemZone();
    const since = io.now() - days * DAY;
    const asked = { asker: asker(everyone), since, zone, ...platformOf(values.platform) };
    const found = await withStore(io, ({ store }) => store.insights(asked));
    if (values.json) return sayJson(io, { since, zone, ...toJson(found) });
    say(io, linesOf(found).join("\n"));
  },
});

function toJson(found: Insights): Record<string, unknown> {
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

function linesOf(found: Insights): string[] {
  const number = (value: number): string => value.toLocaleString("en");
  const platforms = found.byPlatform.map((one) => `${one.platform} ${number(one.messages)}`);
  return facts([
    ["sessions", number(found.sessions)],
    ["messages", `${number(found.messages)}, ${number(found.humanMessages)} by people`],
    ["tool calls", number(found.toolCalls)],
    ["by platform", platforms.join(", ") || "none"],
    ...found.busiest.map(({ handle, title, messages }): [string, string] => [
      "busiest",
      onOneLine(`${handle} ${title ?? ""} (${number(messages)})`),
    ]),
    ["tokens", found.usage.totalTokens === 0 ? "none" : number(found.usage.totalTokens)],
    ["used for", purposeWords(found.usageByPurpose)],
    ["cost", found.usage.totalTokens === 0 ? undefined : costWords(found.usage)],
    ...found.usageByDay.map(({ day, usage }): [string, string] => [day, usedWords(usage)]),
  ]);
}
