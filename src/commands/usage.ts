import { type Usage, usageByPurpose } from "../core/usage.ts";
import { costWords, PURPOSE_WORDS } from "../core/usage-words.ts";
import { type ChatCommand, countMessages, here, type Place } from "./command.ts";

type Row = readonly [name: string, ...values: readonly string[]];

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
    const entries = (await place.store.usageEntries({ asker: place.who, session: session.id })) ?? [];
    const purposes = usageByPurpose(entries).filter((one) => one.usage.totalTokens > 0);
    const parts = purposes.length < 2 ? [] : purposes;
    const columns = [used, ...parts.map((part) => part.usage)];
    const counts = (name: keyof Usage): string[] =>
      columns.map((column) => Number(column[name]).toLocaleString("en-US"));
    const headings: Row =
      parts.length === 0 ? ["", ""] : ["", "all", ...parts.map((part) => PURPOSE_WORDS[part.purpose])];
    const rows: readonly Row[] = [
      ["input", ...counts("inputTokens")],
      ["output", ...counts("outputTokens")],
      ["cache read", ...counts("cacheReadTokens")],
      ["cache write", ...counts("cacheWriteTokens")],
      ["reasoning", ...counts("reasoningTokens")],
      ["**total**", ...counts("totalTokens").map((total) => `**${total}**`)],
      ["cost", ...columns.map(costWords)],
      ["last prompt", used.lastPromptTokens.toLocaleString("en-US")],
      ...contextRow(place, conversation.settings.model, used.lastPromptTokens),
      ["model", used.model ?? "unknown"],
    ];
    return { text: tableOf(headings, rows) };
  },
};

/** What is said of the whole session alone leaves the other columns empty. */
function tableOf(headings: Row, rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string =>
    `|${headings
      .map((_, index) => ` ${cells[index] ?? ""}`.trimEnd())
      .map((cell) => `${cell} |`)
      .join("")}`;
  return [
    line(headings),
    line(headings.map((_, index) => (index === 0 ? "---" : "---:"))),
    ...rows.map(line),
  ].join("\n");
}

/** How much of what the model can read at once the last prompt has taken. */
function contextRow({ agent }: Place, model: string | undefined, lastPrompt: number): readonly Row[] {
  const window = (model === undefined ? undefined : agent.windowOf?.(model)) ?? agent.window;
  if (window === undefined || window <= 0 || lastPrompt === 0) return [];
  const share = ((100 * lastPrompt) / window).toFixed(lastPrompt * 10 < window ? 1 : 0);
  return [["context", `${share}% of ${window.toLocaleString("en-US")}`]];
}
