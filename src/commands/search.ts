import { PostriderError } from "../core/errors.ts";
import type { Hit } from "../core/listing.ts";
import {
  type ChatCommand,
  type ChatCommandContext,
  type Choice,
  escapeMarkdown,
  formatResumeCommand,
  formatTimeUntil,
  shortenLine,
} from "./command.ts";

export const searchChatCommand: ChatCommand = {
  name: "search",
  aliases: ["find"],
  parameters: "WORDS",
  summary: "find words in all your sessions, and jump there",
  isReadOnly: true,
  async run(context, args) {
    const hits = await find(context, args, 10);
    const left = await context.store.messages.countUnindexed({ asker: context.who, text: args });
    const rest = left === 0 ? "" : `\n\nOlder messages are still being indexed: ${left} were not searched.`;
    if (hits.length === 0)
      return { text: `Nothing was found for “${escapeMarkdown(shortenLine(args))}”.${rest}` };
    const rows = hits.map((hit) => {
      const where = hit.title === undefined ? "" : `**${escapeMarkdown(hit.title)}** `;
      return `- \`${formatResumeCommand(context, hit)}\` ${where}${formatSnippet(hit.snippet)} (${formatTimeUntil(hit.at, context.now())})`;
    });
    return { text: `${rows.join("\n")}${rest}` };
  },
  async listChoices(context, args) {
    return (await find(context, args, 50)).map(
      (hit): Choice => ({
        line: formatResumeCommand(context, hit),
        label: shortenLine(hit.snippet.replaceAll(HIT, "$1"), 70),
        about: `${hit.title ?? hit.handle} · ${formatTimeUntil(hit.at, context.now())}`,
      }),
    );
  },
};

function find(context: ChatCommandContext, words: string, limit: number): Promise<readonly Hit[]> {
  if (words === "")
    throw new PostriderError("invalid_input", "Write what to look for, such as /search holiday.");
  return context.sessions.search(context.who, words, { limit });
}

/** What stands between the two marks of a hit; a mark that somebody wrote has no partner. */
const HIT = />>>((?:(?!>>>|<<<).)+)<<</gs;

/** The hits in bold. */
function formatSnippet(snippet: string): string {
  const parts = snippet.replaceAll(/\s+/g, " ").split(HIT);
  return parts
    .map((part, index) => (index % 2 === 1 ? `**${escapeMarkdown(part)}**` : escapeMarkdown(part)))
    .join("");
}
