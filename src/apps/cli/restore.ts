import { plural } from "../../core/plural.ts";
import { replaceDatabase } from "../../stores/sqlite/upkeep/replacing.ts";
import { openOurs } from "../../stores/sqlite/upkeep/soundness.ts";
import { homeOf, makeHome } from "../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { note, say, sayJson } from "./io.ts";
import { progressOn } from "./progress.ts";

/** The way back: a copy becomes the database, and what was there is kept. */
export const restore: Command = defineCommand({
  name: "restore",
  takes: "FILE",
  words: [1, 1],
  about:
    "Makes a copy the database of this home. The copy is checked before anything is touched. A database that is there\nis kept under another name, and only replaced when you say so and no other Postrider works with it.",
  options: {
    replace: { type: "flag", help: "take the place of the database that is there" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider restore ~/postrider-copy.db", "into an empty home"],
    ["postrider restore ~/.postrider/backups/postrider-20260315T040000Z.db --replace", "go back to that day"],
  ],
  async run({ words: [file = ""], values }, io) {
    const home = homeOf(io.environment);
    openOurs(file).close();
    makeHome(home);
    const progress = progressOn(io, "restored");
    try {
      const { kept = null, ...restored } = await replaceDatabase({
        from: file,
        database: home.database,
        replace: values.replace,
        now: io.now(),
        onProgress: progress.at,
      });
      progress.end();
      if (values.json) return sayJson(io, { ...restored, kept });
      say(
        io,
        `Restored ${plural(restored.sessions, "session")} with ${plural(restored.messages, "message")}.`,
      );
      if (kept !== null) note(io, `What was there before is kept as ${kept}.`);
    } finally {
      progress.end();
    }
  },
});
