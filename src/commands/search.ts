import { PostriderError } from "../core/errors.ts";
import type { Hit } from "../core/listing.ts";
import { type ChatCommand, type Choice, escaped, type Place, shortened, wayTo } from "./command.ts";
import { distance } from "./when.ts";

export const search: ChatCommand = {
  name: "search",
  aliases: ["find"],
  takes: "WORDS",
  summary: "find words in all your sessions, and jump there",
  looks: true,
  async run(place, args) {
    const hits = await find(place, args, 10);
    const left = await place.store.unsearched({ asker: place.who, text: args });
    const rest = left === 0 ? "" : `\n\nOlder messages are still being indexed: ${left} were not searched.`;
    if (hits.length === 0) return { text: `Nothing was found for “${escaped(shortened(args))}”.${rest}` };
    const rows = hits.map((hit) => {
      const where = hit.title === undefined ? "" : `**${escaped(hit.title)}** `;
      return `- \`${wayTo(place, hit)}\` ${where}${marked(hit.snippet)} (${distance(hit.at, place.now())})`;
    });
    return { text: `${rows.join("\n")}${rest}` };
  },
  async choose(place, args) {
    return (await find(place, args, 50)).map(
      (hit): Choice => ({
        line: wayTo(place, hit),
        label: shortened(hit.snippet.replaceAll(HIT, "$1"), 70),
        about: `${hit.title ?? hit.handle} · ${distance(hit.at, place.now())}`,
      }),
    );
  },
};

function find(place: Place, words: string, limit: number): Promise<readonly Hit[]> {
  if (words === "")
    throw new PostriderError("invalid_input", "Write what to look for, such as /search holiday.");
  return place.sessions.search(place.who, words, { limit });
}

/** What stands between the two marks of a hit; a mark that somebody wrote has no partner. */
const HIT = />>>((?:(?!>>>|<<<).)+)<<</gs;

/** The hits in bold. */
function marked(snippet: string): string {
  const parts = snippet.replaceAll(/\s+/g, " ").split(HIT);
  return parts.map((part, index) => (index % 2 === 1 ? `**${escaped(part)}**` : escaped(part))).join("");
}
