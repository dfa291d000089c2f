import type { Stats } from "node:fs";
import { PostriderError } from "../core/errors.ts";
import { maskedBy } from "../processes/masking.ts";
import { allowedPath, shownPath } from "./allowed-path.ts";
import { diffOf } from "./diff.ts";
import { withFound } from "./found-file.ts";
import type { Hands } from "./hands.ts";
import { mostAlike } from "./most-alike.ts";
import { replaceFile } from "./replace-file.ts";
import { MOST_COUNTED, patched } from "./replacement.ts";
import { MOST_WRITTEN, writable } from "./write-whole.ts";

export interface PatchWanted {
  readonly path: string;
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

/** A part of a file is another. Says what has changed. */
export async function patchFile(wanted: PatchWanted, hands: Hands, signal: AbortSignal): Promise<string> {
  const to = await allowedPath(wanted.path, hands);
  const shown = shownPath(to.real, hands);
  const { before, stats } = await textOf(to.real, shown);
  const result = patched(before, wanted);
  const mask = maskedBy(hands.secrets);
  if ("wrong" in result) throw refused(result.wrong, shown, mask(before), wanted.old);
  await replaceFile({
    to,
    shown,
    bytes: writable(result.after),
    read: stats,
    random: (size) => hands.clock.random(size),
    signal,
  });
  const places = result.places.length === 1 ? "" : ` in ${result.places.length} places`;
  return `Changed ${shown}${places}:\n${diffOf(before, result, mask)}`;
}

/** Only what comes back byte by byte as it was may be written again. */
async function textOf(real: string, shown: string): Promise<{ before: string; stats: Stats }> {
  return withFound(real, shown, async (found) => {
    if (found.kind === "missing")
      throw new PostriderError("not_found", `${shown} is not there. To make it, use write_file.`);
    if (found.kind === "folder") throw new PostriderError("invalid_input", `${shown} is a folder.`);
    const { handle, stats } = found;
    if (stats.size > MOST_WRITTEN)
      throw new PostriderError("too_large", `${shown} is larger than ${MOST_WRITTEN / 1024 / 1024} MB.`);
    const bytes = await handle.readFile();
    try {
      return { before: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), stats };
    } catch {
      throw new PostriderError("invalid_input", `${shown} is not text in UTF-8, and was left as it is.`);
    }
  });
}

function refused(
  wrong: "empty" | "same" | "absent" | { readonly times: number },
  shown: string,
  before: string,
  old: string,
): PostriderError {
  if (wrong === "empty")
    return new PostriderError("invalid_input", "old is empty. Say which text is to be changed.");
  if (wrong === "same") return new PostriderError("invalid_input", "old and new are the same.");
  if (wrong === "absent")
    return new PostriderError("not_found", `old does not stand in ${shown}.${nearest(before, old)}`);
  const isCounted = wrong.times < MOST_COUNTED;
  const times = `old stands ${isCounted ? "" : "at least "}${wrong.times} times in ${shown}.`;
  return new PostriderError(
    "ambiguous",
    `${times} Give more of the lines around it, or all to change every one.`,
  );
}

/** The line that was probably meant, with those around it. */
function nearest(before: string, old: string): string {
  const wanted = old.split("\n").find((line) => line.trim() !== "");
  const lines = before.split(/\r?\n/);
  const [found] = wanted === undefined ? [] : mostAlike(lines, wanted, 1);
  if (found === undefined) return " Nothing in it is like it; read it again.";
  const at = lines.indexOf(found);
  const around = lines.slice(Math.max(0, at - 1), at + 2).map((line) => line.slice(0, 300));
  return ` Most like it is line ${at + 1}, here with its neighbours:\n${around.join("\n")}`;
}
