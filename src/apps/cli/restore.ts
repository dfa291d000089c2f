import { pluralize } from "../../core/pluralize.ts";
import { openPostriderDatabase } from "../../stores/sqlite/upkeep/integrity.ts";
import { replaceDatabase } from "../../stores/sqlite/upkeep/replace-database.ts";
import { makeHome, resolveHome } from "../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { printJson, printLine, printNotice } from "./io.ts";
import { createProgress } from "./progress.ts";

/** The way back: a copy becomes the database, and what was there is kept. */
export const restoreCommand: Command = defineCommand({
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
    const home = resolveHome(io.environment);
    openPostriderDatabase(file).close();
    makeHome(home);
    const progress = createProgress(io, "restored");
    try {
      const { kept = null, ...restored } = await replaceDatabase({
        from: file,
        database: home.database,
        replace: values.replace,
        now: io.now(),
        onProgress: progress.update,
      });
      progress.end();
      if (values.json) return printJson(io, { ...restored, kept });
      printLine(
        io,
        `Restored ${pluralize(restored.sessions, "session")} with ${pluralize(restored.messages, "message")}.`,
      );
      if (kept !== null) printNotice(io, `What was there before is kept as ${kept}.`);
    } finally {
      progress.end();
    }
  },
});
