import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { type ErrorCode, PostriderError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/owner.ts";
import { pluralize } from "../../../core/pluralize.ts";
import type { Session } from "../../../core/session.ts";
import { resolveHome } from "../../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { indexImported } from "../index-imported.ts";
import { type Io, printJson, printLine, printNotice } from "../io.ts";
import { type OpenHome, withHome } from "../open-home.ts";
import { readLines } from "../read-lines.ts";

export const importSessionsCommand: Command = defineCommand({
  name: "sessions import",
  takes: "FILE",
  words: [1, 1],
  about: `Imports a file of postrider sessions export (jsonl). Sessions that exist already stay unchanged. An unreadable line is
reported, and the import continues with the next one. FILE - reads from stdin.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider sessions import sessions.jsonl", "import sessions of another home"],
    [
      "ssh server postrider sessions export --all | postrider sessions import -",
      "import from another machine",
    ],
  ],
  async run({ words: [file = ""], values }, io) {
    const result = await withHome(io, (open) => importLines(open, readInput(io, file)));
    const { imported, skipped, failed } = result;
    if (imported.length > 0) indexImported(io, resolveHome(io.environment).database);
    if (values.json) {
      printJson(io, {
        imported: imported.map(({ id, handle, title }) => ({ id, handle, title: title ?? null })),
        skipped,
        failed,
        messages: result.messages,
      });
    } else printResult(io, result);
    return failed.length > 0 ? 1 : 0;
  },
});

interface ImportResult {
  readonly imported: readonly Session[];
  /** Ids of sessions that exist already. */
  readonly skipped: readonly string[];
  readonly failed: readonly { readonly line: number; readonly code: ErrorCode; readonly message: string }[];
  readonly messages: number;
}

async function importLines(
  { store, sessions }: OpenHome,
  lines: AsyncIterable<string>,
): Promise<ImportResult> {
  const imported: Session[] = [];
  const skipped: string[] = [];
  const failed: ImportResult["failed"][number][] = [];
  const isHere = async (id: unknown): Promise<boolean> => {
    if (typeof id !== "string") return false;
    return (await store.sessions.getSession({ asker: { everyone: true }, session: id })) !== undefined;
  };
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line.trim() === "") continue;
    try {
      const json = parseLine(line);
      const id = (json as { session?: { id?: unknown } } | null)?.session?.id;
      if (await isHere(id)) skipped.push(id as string);
      else imported.push(await sessions.import(json));
    } catch (error) {
      if (!(error instanceof PostriderError) || !LINE_ERRORS.has(error.code)) throw error;
      failed.push({ line: number, code: error.code, message: error.message });
    }
  }
  const messages = imported.reduce((sum, { messageCount }) => sum + messageCount, 0);
  return { imported, skipped, failed, messages };
}

/** Other errors, such as a full disk, would repeat for every line. */
const LINE_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid_input", "too_large"]);

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new PostriderError("invalid_input", "The line is not JSON: it is damaged or cut off.");
  }
}

async function* readInput(io: Io, file: string): AsyncGenerator<string> {
  if (file === "-") return yield* readLines(io.input);
  try {
    yield* readLines(createReadStream(resolve(file)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    const missing = code === "ENOENT";
    throw new PostriderError(
      missing ? "not_found" : "invalid_input",
      missing ? `${file} does not exist.` : `Cannot read ${file} (${code}).`,
      { cause: error, details: { file } },
    );
  }
}

function printResult(io: Io, { imported, skipped, failed, messages }: ImportResult): void {
  printLine(
    io,
    `${imported.length} imported (${pluralize(messages, "message")}), ${skipped.length} already exist, ${failed.length} failed.`,
  );
  for (const id of skipped) printNotice(io, `  already exists: ${id}`);
  for (const { line, message } of failed) printNotice(io, `  line ${line}: ${message}`);
  const others = imported.filter(({ owner }) => owner !== OWNER).length;
  if (others > 0)
    printNotice(
      io,
      `${others} of them belong to other people. To list them: postrider sessions list --everyone`,
    );
}
