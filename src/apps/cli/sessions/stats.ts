import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { formatSize } from "../format-size.ts";
import { printJson, printLine } from "../io.ts";
import { toAsker, withStore } from "../open-home.ts";
import { formatFacts } from "../table.ts";
import { formatOwner } from "./session-rows.ts";

export const sessionStatsCommand: Command = defineCommand({
  name: "sessions stats",
  about: "Counts sessions and messages by platform and kind, and shows the size of the database.",
  options: { everyone: EVERYONE_OPTION, json: JSON_OPTION },
  examples: [
    ["postrider sessions stats", "your sessions"],
    ["postrider sessions stats --everyone", "all sessions, also by person"],
  ],
  async run({ values }, io) {
    const { everyone } = values;
    const { stats, file } = await withStore(io, async ({ store, home }) => ({
      stats: await store.sessions.getStats({ asker: toAsker(everyone) }),
      file: home.database,
    }));
    const { sessions, messages, byPlatform, byKind, byOwner, bytes } = stats;
    if (values.json) {
      return printJson(io, {
        sessions,
        messages,
        by_platform: byPlatform,
        by_kind: byKind,
        by_owner: everyone ? byOwner : null,
        bytes,
        file,
      });
    }
    const owners = Object.fromEntries(
      Object.entries(byOwner).map(([owner, count]) => [formatOwner(owner), count]),
    );
    printLine(
      io,
      formatFacts([
        ["sessions", String(sessions)],
        ["messages", String(messages)],
        ["by platform", formatCounts(byPlatform)],
        ["by kind", formatCounts(byKind)],
        ["by person or chat", everyone ? formatCounts(owners) : undefined],
        ["database", `${formatSize(bytes)} (${file})`],
      ]).join("\n"),
    );
  },
});

/** Largest count first. */
function formatCounts(by: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(by).toSorted(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}
