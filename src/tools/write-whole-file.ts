import { PostriderError } from "../core/errors.ts";
import { pluralize } from "../core/pluralize.ts";
import { resolveAllowedPath, toDisplayPath } from "./allowed-path.ts";
import { withOpenedPath } from "./opened-path.ts";
import { countLines } from "./paginate-text.ts";
import { replaceFile } from "./replace-file.ts";
import type { ToolContext } from "./tool-context.ts";

/** An agent writes text; a larger file is a mistake, or a job for a command. */
export const MAX_WRITTEN_BYTES: number = 5 * 1024 * 1024;

/** Writes a whole file and returns what changed. */
export async function writeWholeFile(
  path: string,
  content: string,
  context: ToolContext,
  signal: AbortSignal,
): Promise<string> {
  const bytes = encodeFileText(content);
  const to = await resolveAllowedPath(path, context);
  const shown = toDisplayPath(to.realPath, context);
  const before = await countLinesBefore(to.realPath, shown);
  await replaceFile({ to, displayPath: shown, bytes, random: (size) => context.clock.random(size), signal });
  return describeOutcome(shown, countLines(content), before);
}

/** Encodes the text; throws if that would change it. */
export function encodeFileText(content: string): Uint8Array {
  if (!content.isWellFormed())
    throw new PostriderError(
      "invalid_input",
      "The text contains half of a surrogate pair, which UTF-8 cannot store.",
    );
  const bytes = Buffer.from(content);
  if (bytes.length <= MAX_WRITTEN_BYTES) return bytes;
  const limit = MAX_WRITTEN_BYTES / 1024 / 1024;
  throw new PostriderError("too_large", `The file would be larger than ${limit} MB. Nothing was written.`);
}

/** The number of lines before; `undefined` without a file or for a very large one. */
async function countLinesBefore(real: string, shown: string): Promise<number | "many" | undefined> {
  return withOpenedPath(real, shown, async (found) => {
    if (found.kind !== "file") return undefined;
    if (found.stats.size > MAX_WRITTEN_BYTES) return "many";
    return countLines(await found.handle.readFile("latin1"));
  });
}

function describeOutcome(shown: string, lines: number, before: number | "many" | undefined): string {
  if (before === undefined) return `Created ${shown}: ${formatLineCount(lines)}.`;
  return before === "many"
    ? `Overwrote ${shown}: ${formatLineCount(lines)}, instead of a file of more than ${MAX_WRITTEN_BYTES / 1024 / 1024} MB.`
    : `Overwrote ${shown}: ${formatLineCount(lines)}, instead of ${before}.`;
}

function formatLineCount(lines: number): string {
  return pluralize(lines, "line");
}
