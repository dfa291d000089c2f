import { type ChatCommand, here, plural } from "./command.ts";

export const usage: ChatCommand = {
  name: "usage",
  aliases: ["cost"],
  summary: "tokens and cost of this session",
  async run(place) {
    const { session } = await here(place);
    const { usage: used } = session;
    if (used.totalTokens === 0 && used.costUsd === undefined) {
      return { text: `No tokens have been counted in ${plural(session.messageCount, "message")} yet.` };
    }
    const count = (tokens: number): string => tokens.toLocaleString("en-US");
    const cost =
      used.costUsd === undefined ? used.costStatus : `$${used.costUsd.toFixed(4)} (${used.costStatus})`;
    const rows: readonly (readonly [string, string])[] = [
      ["input", count(used.inputTokens)],
      ["output", count(used.outputTokens)],
      ["cache read", count(used.cacheReadTokens)],
      ["cache write", count(used.cacheWriteTokens)],
      ["reasoning", count(used.reasoningTokens)],
      ["**total**", `**${count(used.totalTokens)}**`],
      ["last prompt", count(used.lastPromptTokens)],
      ["cost", cost],
      ["model", used.model ?? "unknown"],
    ];
    return {
      text: ["| | |", "| --- | ---: |", ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join("\n"),
    };
  },
};
