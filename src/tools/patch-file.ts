import type { Stats } from "node:fs";
import { PostriderError } from "../core/errors.ts";
import { createSecretMask } from "../processes/masking.ts";
import { resolveAllowedPath, toDisplayPath } from "./allowed-path.ts";
import { formatDiff } from "./diff.ts";
import { findMostSimilar } from "./find-similar.ts";
import { withOpenedPath } from "./opened-path.ts";
import { replaceFile } from "./replace-file.ts";
import { applyTextPatch, MAX_COUNTED_MATCHES } from "./text-patch.ts";
import type { ToolContext } from "./tool-context.ts";
import { encodeFileText, MAX_WRITTEN_BYTES } from "./write-whole-file.ts";

export interface FilePatch {
  readonly path: string;
  readonly old: string;
  readonly new: string;
  readonly all: boolean;
}

/** A part of a file is another. Says what has changed. */
export async function patchFile(wanted: FilePatch, hands: ToolContext, signal: AbortSignal): Promise<string> {
  const to = await resolveAllowedPath(wanted.path, hands);
  const shown = toDisplayPath(to.realPath, hands);
  const { before, stats } = await readTextFile(to.realPath, shown);
  const result = applyTextPatch(before, wanted);
  const mask = createSecretMask(hands.secrets);
  if ("wrong" in result) throw createPatchError(result.wrong, shown, mask(before), wanted.old);
  await replaceFile({
    to,
    displayPath: shown,
    bytes: encodeFileText(result.after),
    expected: stats,
    random: (size) => hands.clock.random(size),
    signal,
  });
  const places = result.replacements.length === 1 ? "" : ` in ${result.replacements.length} places`;
  return `Changed ${shown}${places}:\n${formatDiff(before, result, mask)}`;
}

/** Only what comes back byte by byte as it was may be written again. */
async function readTextFile(real: string, shown: string): Promise<{ before: string; stats: Stats }> {
  return withOpenedPath(real, shown, async (found) => {
    if (found.kind === "missing")
      throw new PostriderError("not_found", `${shown} is not there. To make it, use write_file.`);
    if (found.kind === "folder") throw new PostriderError("invalid_input", `${shown} is a folder.`);
    const { handle, stats } = found;
    if (stats.size > MAX_WRITTEN_BYTES)
      throw new PostriderError("too_large", `${shown} is larger than ${MAX_WRITTEN_BYTES / 1024 / 1024} MB.`);
    const bytes = await handle.readFile();
    try {
      return { before: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), stats };
    } catch {
      throw new PostriderError("invalid_input", `${shown} is not text in UTF-8, and was left as it is.`);
    }
  });
}

function createPatchError(
  wrong: "empty" | "same" | "absent" | { readonly times: number },
  shown: string,
  before: string,
  old: string,
): PostriderError {
  if (wrong === "empty")
    return new PostriderError("invalid_input", "old is empty. Say which text is to be changed.");
  if (wrong === "same") return new PostriderError("invalid_input", "old and new are the same.");
  if (wrong === "absent")
    return new PostriderError(
      "not_found",
      `old does not stand in ${shown}.${describeNearestLine(before, old)}`,
    );
  const isCounted = wrong.times < MAX_COUNTED_MATCHES;
  const times = `old stands ${isCounted ? "" : "at least "}${wrong.times} times in ${shown}.`;
  return new PostriderError(
    "ambiguous",
    `${times} Give more of the lines around it, or all to change every one.`,
  );
}

/** The line that was probably meant, with those around it. */
function describeNearestLine(before: string, old: string): string {
  const wanted = old.split("\n").find((line) => line.trim() !== "");
  const lines = before.split(/\r?\n/);
  const [found] = wanted === undefined ? [] : findMostSimilar(lines, wanted, 1);
  if (found === undefined) return " Nothing in it is like it; read it again.";
  const at = lines.indexOf(found);
  const around = lines.slice(Math.max(0, at - 1), at + 2).map((line) => line.slice(0, 300));
  return ` Most like it is line ${at + 1}, here with its neighbours:\n${around.join("\n")}`;
}
