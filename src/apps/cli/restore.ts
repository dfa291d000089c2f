import { pluralize } from "../../core/pluralize.ts";
import { openPostriderDatabase } from "../../stores/sqlite/upkeep/integrity.ts";
import { replaceDatabase } from "../../stores/sqlite/upkeep/replace-database.ts";
import { makeHome, resolveHome } from "../home.ts";
import { requireSqlite } from "../open-store.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { printJson, printLine, printNotice } from "./io.ts";
import { createProgress } from "./progress.ts";

/** Replaces the database with a backup and keeps the old one. */
export const restoreCommand: Command = defineCommand({
  name: "restore",
  takes: "FILE",
  words: [1, 1],
  about:
    "Restores the database of this home from a backup. Postrider verifies the backup first. It replaces an existing\ndatabase only with --replace and while no other Postrider process uses it, and keeps the old one under another name.",
  options: {
    replace: { type: "flag", help: "replace the existing database" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider restore ~/postrider-copy.db", "restore into an empty home"],
    [
      "postrider restore ~/.postrider/backups/postrider-20260315T040000Z.db --replace",
      "go back to a daily copy",
    ],
  ],
  async run({ words: [file = ""], values }, io) {
    const home = resolveHome(io.environment);
    await requireSqlite(home, io.environment, "restore", "Use the server's own tools, such as pg_restore.");
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
      if (kept !== null) printNotice(io, `The previous database is kept as ${kept}.`);
    } finally {
      progress.end();
    }
  },
});
