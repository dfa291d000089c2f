import { type ChatCommand, countMessages, here, type Place } from "./command.ts";

export const usage: ChatCommand = {
  name: "usage",
  aliases: ["cost"],
  summary: "tokens and cost of this session",
  looks: true,
  async run(place) {
    const { conversation, session } = await here(place);
    const { usage: used } = session;
    if (used.totalTokens === 0 && used.costUsd === undefined) {
      return { text: `No tokens have been counted yet (${await countMessages(place, session)}).` };
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
      ...contextRow(place, conversation.settings.model, used.lastPromptTokens),
      ["cost", cost],
      ["model", used.model ?? "unknown"],
    ];
    return {
      text: ["| | |", "| --- | ---: |", ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join("\n"),
    };
  },
};

/** How much of what the model can read at once the last prompt has taken. */
function contextRow(
  { agent }: Place,
  model: string | undefined,
  lastPrompt: number,
): readonly (readonly [string, string])[] {
  const window = (model === undefined ? undefined : agent.windowOf?.(model)) ?? agent.window;
  if (window === undefined || window <= 0 || lastPrompt === 0) return [];
  const share = ((100 * lastPrompt) / window).toFixed(lastPrompt * 10 < window ? 1 : 0);
  return [["context", `${share}% of ${window.toLocaleString("en-US")}`]];
}
