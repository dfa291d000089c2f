import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { say, sayJson } from "../io.ts";
import { asker, withStore } from "../opening.ts";
import { sizeText } from "../size-text.ts";
import { facts } from "../table.ts";
import { ownerName } from "./rows.ts";

export const stats: Command = defineCommand({
  name: "sessions stats",
  about: "How many sessions and messages there are, by platform and kind, and how large the database is.",
  options: { everyone: EVERYONE_OPTION, json: JSON_OPTION },
  examples: [
    ["postrider sessions stats", "yours"],
    ["postrider sessions stats --everyone", "all, and how many each person has"],
  ],
  async run({ values }, io) {
    const { everyone } = values;
    const { stats, file } = await withStore(io, async ({ store, home }) => ({
      stats: await store.stats({ asker: asker(everyone) }),
      file: home.database,
    }));
    const { sessions, messages, byPlatform, byKind, byOwner, bytes } = stats;
    if (values.json) {
      return sayJson(io, {
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
      Object.entries(byOwner).map(([owner, count]) => [ownerName(owner), count]),
    );
    say(
      io,
      facts([
        ["sessions", String(sessions)],
        ["messages", String(messages)],
        ["by platform", counts(byPlatform)],
        ["by kind", counts(byKind)],
        ["by person or chat", everyone ? counts(owners) : undefined],
        ["database", `${sizeText(bytes)} (${file})`],
      ]).join("\n"),
    );
  },
});

/** The most first. */
function counts(by: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(by).toSorted(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}
