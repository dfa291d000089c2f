import { PostriderError } from "../core/errors.ts";
import { plural } from "../core/plural.ts";
import { allowedPath, shownPath } from "./allowed-path.ts";
import { withFound } from "./found-file.ts";
import type { Hands } from "./hands.ts";
import { countLines } from "./pages.ts";
import { replaceFile } from "./replace-file.ts";

/** What an agent writes is made of words: more is a mistake, or a job for a command. */
export const MOST_WRITTEN: number = 5 * 1024 * 1024;

/** A file holds this text and nothing else. Says what it was before. */
export async function writeWhole(
  path: string,
  content: string,
  hands: Hands,
  signal: AbortSignal,
): Promise<string> {
  const bytes = writable(content);
  const to = await allowedPath(path, hands);
  const shown = shownPath(to.real, hands);
  const before = await linesBefore(to.real, shown);
  await replaceFile({ to, shown, bytes, random: (size) => hands.clock.random(size), signal });
  return outcome(shown, countLines(content), before);
}

/** As it is stored; refused where that would not be what was given. */
export function writable(content: string): Uint8Array {
  if (!content.isWellFormed())
    throw new PostriderError("invalid_input", "The text holds half a character, which no file can keep.");
  const bytes = Buffer.from(content);
  if (bytes.length <= MOST_WRITTEN) return bytes;
  const limit = MOST_WRITTEN / 1024 / 1024;
  throw new PostriderError("too_large", `The file would be larger than ${limit} MB. Nothing was written.`);
}

/** How many lines there were; `undefined` without a file, and for one that is too large to be worth counting. */
async function linesBefore(real: string, shown: string): Promise<number | "many" | undefined> {
  return withFound(real, shown, async (found) => {
    if (found.kind !== "file") return undefined;
    if (found.stats.size > MOST_WRITTEN) return "many";
    return countLines(await found.handle.readFile("latin1"));
  });
}

function outcome(shown: string, lines: number, before: number | "many" | undefined): string {
  if (before === undefined) return `Created ${shown}: ${words(lines)}.`;
  return before === "many"
    ? `Overwrote ${shown}: ${words(lines)}, instead of a file of more than ${MOST_WRITTEN / 1024 / 1024} MB.`
    : `Overwrote ${shown}: ${words(lines)}, instead of ${before}.`;
}

function words(lines: number): string {
  return plural(lines, "line");
}
