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

/** Replaces a part of a file and returns the diff. */
export async function patchFile(
  patch: FilePatch,
  context: ToolContext,
  signal: AbortSignal,
): Promise<string> {
  const to = await resolveAllowedPath(patch.path, context);
  const shown = toDisplayPath(to.realPath, context);
  const { before, stats } = await readTextFile(to.realPath, shown);
  const result = applyTextPatch(before, patch);
  const mask = createSecretMask(context.secrets);
  if ("wrong" in result) throw createPatchError(result.wrong, shown, mask(before), patch.old);
  await replaceFile({
    to,
    displayPath: shown,
    bytes: encodeFileText(result.after),
    expected: stats,
    random: (size) => context.clock.random(size),
    signal,
  });
  const places = result.replacements.length === 1 ? "" : ` in ${result.replacements.length} places`;
  return `Changed ${shown}${places}:\n${formatDiff(before, result, mask)}`;
}

/** Reads a file that can be decoded and encoded without loss. */
async function readTextFile(real: string, shown: string): Promise<{ before: string; stats: Stats }> {
  return withOpenedPath(real, shown, async (found) => {
    if (found.kind === "missing")
      throw new PostriderError("not_found", `${shown} does not exist. To create it, use write_file.`);
    if (found.kind === "folder") throw new PostriderError("invalid_input", `${shown} is a folder.`);
    const { handle, stats } = found;
    if (stats.size > MAX_WRITTEN_BYTES)
      throw new PostriderError("too_large", `${shown} is larger than ${MAX_WRITTEN_BYTES / 1024 / 1024} MB.`);
    const bytes = await handle.readFile();
    try {
      return { before: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), stats };
    } catch {
      throw new PostriderError("invalid_input", `${shown} is not UTF-8 text. It was not changed.`);
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
    return new PostriderError("invalid_input", "old is empty. Pass the text to replace.");
  if (wrong === "same") return new PostriderError("invalid_input", "old and new are the same.");
  if (wrong === "absent")
    return new PostriderError(
      "not_found",
      `old does not occur in ${shown}.${describeNearestLine(before, old)}`,
    );
  const isCounted = wrong.times < MAX_COUNTED_MATCHES;
  const times = `old occurs ${isCounted ? "" : "at least "}${wrong.times} times in ${shown}.`;
  return new PostriderError(
    "ambiguous",
    `${times} Include more of the lines around it, or set all to replace every occurrence.`,
  );
}

/** Describes the most similar line, with its neighbours. */
function describeNearestLine(before: string, old: string): string {
  const patch = old.split("\n").find((line) => line.trim() !== "");
  const lines = before.split(/\r?\n/);
  const [found] = patch === undefined ? [] : findMostSimilar(lines, patch, 1);
  if (found === undefined) return " No line is similar; read the file again.";
  const at = lines.indexOf(found);
  const neighbours = lines.slice(Math.max(0, at - 1), at + 2).map((line) => line.slice(0, 300));
  return ` The most similar line is ${at + 1}, with its neighbours:\n${neighbours.join("\n")}`;
}
