import { formatCost, PURPOSE_LABELS } from "../core/format-usage.ts";
import { sumByPurpose, type Usage } from "../core/usage.ts";
import { type ChatCommand, type ChatCommandContext, formatMessageCount, requireCurrent } from "./command.ts";

type TableRow = readonly [name: string, ...values: readonly string[]];

export const usageChatCommand: ChatCommand = {
  name: "usage",
  aliases: ["cost"],
  summary: "tokens and cost of this session",
  isReadOnly: true,
  async run(context) {
    const { conversation, session } = await requireCurrent(context);
    const { usage: used } = session;
    if (used.totalTokens === 0 && used.costUsd === undefined) {
      return { text: `No tokens have been counted yet (${await formatMessageCount(context, session)}).` };
    }
    const entries =
      (await context.store.sessions.listUsageEntries({ asker: context.who, session: session.id })) ?? [];
    const purposes = sumByPurpose(entries).filter((one) => one.usage.totalTokens > 0);
    const parts = purposes.length < 2 ? [] : purposes;
    const columns = [used, ...parts.map((part) => part.usage)];
    const counts = (name: keyof Usage): string[] =>
      columns.map((column) => Number(column[name]).toLocaleString("en-US"));
    const headings: TableRow =
      parts.length === 0 ? ["", ""] : ["", "all", ...parts.map((part) => PURPOSE_LABELS[part.purpose])];
    const rows: readonly TableRow[] = [
      ["input", ...counts("inputTokens")],
      ["output", ...counts("outputTokens")],
      ["cache read", ...counts("cacheReadTokens")],
      ["cache write", ...counts("cacheWriteTokens")],
      ["reasoning", ...counts("reasoningTokens")],
      ["**total**", ...counts("totalTokens").map((total) => `**${total}**`)],
      ["cost", ...columns.map(formatCost)],
      ["last prompt", used.lastPromptTokens.toLocaleString("en-US")],
      ...buildContextRow(context, conversation.settings.model, used.lastPromptTokens),
      ["model", used.model ?? "unknown"],
    ];
    return { text: formatTable(headings, rows) };
  },
};

/** A row about the whole session leaves the other columns empty. */
function formatTable(headings: TableRow, rows: readonly TableRow[]): string {
  const formatRow = (cells: readonly string[]): string =>
    `|${headings
      .map((_, index) => ` ${cells[index] ?? ""}`.trimEnd())
      .map((cell) => `${cell} |`)
      .join("")}`;
  return [
    formatRow(headings),
    formatRow(headings.map((_, index) => (index === 0 ? "---" : "---:"))),
    ...rows.map(formatRow),
  ].join("\n");
}

/** The share of the model's context window that the last prompt used. */
function buildContextRow(
  { agent }: ChatCommandContext,
  model: string | undefined,
  lastPrompt: number,
): readonly TableRow[] {
  const window = (model === undefined ? undefined : agent.getContextWindow?.(model)) ?? agent.contextWindow;
  if (window === undefined || window <= 0 || lastPrompt === 0) return [];
  const share = ((100 * lastPrompt) / window).toFixed(lastPrompt * 10 < window ? 1 : 0);
  return [["context", `${share}% of ${window.toLocaleString("en-US")}`]];
}
