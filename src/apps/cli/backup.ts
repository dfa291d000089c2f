import { existsSync } from "node:fs";
import { PostriderError } from "../../core/errors.ts";
import { pluralize } from "../../core/pluralize.ts";
import { copyDatabase } from "../../stores/sqlite/upkeep/copy-database.ts";
import { resolveHome } from "../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { formatSize } from "./format-size.ts";
import { type Io, printJson, printLine } from "./io.ts";
import { createProgress } from "./progress.ts";

/** One checked file that holds everything, of one instant, however busy the home is. */
export const backupCommand: Command = defineCommand({
  name: "backup",
  takes: "FILE",
  words: [1, 1],
  about:
    "Copies the whole database into one file, while Postrider goes on working. The copy is of one instant, checked\nbefore it gets its name, and readable by you alone.",
  options: {
    force: { type: "flag", help: "take the place of a file that is there" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider backup ~/postrider-copy.db", "everything, in one file"],
    ["postrider backup /mnt/stick/postrider.db --force", "over the copy of last time"],
  ],
  async run({ words: [file = ""], values }, io) {
    const from = requireDatabase(io);
    const progress = createProgress(io, "copied");
    try {
      const copied = await copyDatabase({
        from,
        to: file,
        overwrite: values.force,
        onProgress: progress.update,
      }).catch((error) => {
        throw addHint(error);
      });
      progress.end();
      if (values.json) printJson(io, copied);
      else
        printLine(
          io,
          `${copied.file}: ${pluralize(copied.sessions, "session")}, ${pluralize(copied.messages, "message")}, ${formatSize(copied.bytes)}, checked.`,
        );
    } finally {
      progress.end();
    }
  },
});

/** A home without a database has nothing to copy, and asking must not make one. */
function requireDatabase(io: Io): string {
  const { database } = resolveHome(io.environment);
  if (existsSync(database)) return database;
  throw new PostriderError("not_found", `There is nothing to back up: no ${database}.`, {
    details: { file: database },
  });
}

function addHint(error: unknown): unknown {
  if (!(error instanceof PostriderError) || error.code !== "file_exists") return error;
  return new PostriderError("file_exists", `${error.message} Name another file, or say --force.`, {
    details: { ...error.details },
  });
}
