import { existsSync } from "node:fs";
import { PostriderError } from "../../core/errors.ts";
import { pluralize } from "../../core/pluralize.ts";
import { copyDatabase } from "../../stores/sqlite/upkeep/copy-database.ts";
import { resolveHome } from "../home.ts";
import { requireSqlite } from "../open-store.ts";
import { type Command, defineCommand, JSON_OPTION } from "./command.ts";
import { formatSize } from "./format-size.ts";
import { type Io, printJson, printLine } from "./io.ts";
import { createProgress } from "./progress.ts";

/** Copies the database, as of one instant, into one verified file, also while other processes write. */
export const backupCommand: Command = defineCommand({
  name: "backup",
  takes: "FILE",
  words: [1, 1],
  about:
    "Copies the whole database into one file while Postrider runs. The copy shows one instant. Postrider verifies it\nbefore it gives the file its name, and only you can read it.",
  options: {
    force: { type: "flag", help: "overwrite an existing file" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider backup ~/postrider-copy.db", "copy everything into one file"],
    ["postrider backup /mnt/stick/postrider.db --force", "overwrite the last copy"],
  ],
  async run({ words: [file = ""], values }, io) {
    await requireSqlite(
      resolveHome(io.environment),
      io.environment,
      "backup",
      "Use the server's own tools, such as pg_dump.",
    );
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
          `${copied.file}: ${pluralize(copied.sessions, "session")}, ${pluralize(copied.messages, "message")}, ${formatSize(copied.bytes)}, verified.`,
        );
    } finally {
      progress.end();
    }
  },
});

/** A home without a database has nothing to copy, and this command must not create one. */
function requireDatabase(io: Io): string {
  const { database } = resolveHome(io.environment);
  if (existsSync(database)) return database;
  throw new PostriderError("not_found", `There is nothing to back up: ${database} does not exist.`, {
    details: { file: database },
  });
}

function addHint(error: unknown): unknown {
  if (!(error instanceof PostriderError) || error.code !== "file_exists") return error;
  return new PostriderError(
    "file_exists",
    `${error.message} Name another file, or add --force to overwrite it.`,
    {
      details: { ...error.details },
    },
  );
}
