import type { Stats } from "node:fs";
import { PostriderError } from "../core/errors.ts";
import { text } from "../core/message.ts";
import type { Tool, ToolOutput } from "../ports/tool.ts";
import { maskedBy } from "../processes/masking.ts";
import { allowedPath, shownPath } from "./allowed-path.ts";
import { diffOf } from "./diff.ts";
import { withFound } from "./found-file.ts";
import { givenIn, outputOf, textIn } from "./given.ts";
import type { Hands } from "./hands.ts";
import { mostAlike } from "./most-alike.ts";
import { replaceFile } from "./replace-file.ts";
import { patched } from "./replacement.ts";
import { MOST_WRITTEN, writable } from "./write-file.ts";

export function patchTool(hands: Hands): Tool {
  return {
    name: "patch",
    description:
      "Changes a part of a text file: the exact text old, which must stand there once, becomes new. Give enough of the lines around it that it is the only one, or all to change every one. Answers with what has changed.",
    input: {
      type: "object",
      properties: {
        path: { type: "string", description: `The file, in full or from ${hands.cwd}.` },
        old: { type: "string", description: "What stands there now, character by character." },
        new: { type: "string", description: "What is to stand there; empty takes it out." },
        all: { type: "boolean", description: "Whether every one is changed, if there are several." },
      },
      required: ["path", "old", "new"],
      additionalProperties: false,
    },
    effect: "external",
    run: (value, { signal }) =>
      outputOf(async () => {
        const given = givenIn(value);
        const to = await allowedPath(textIn(given, "path") ?? "", hands);
        const shown = shownPath(to.real, hands);
        const { before, stats } = await textOf(to.real, shown);
        const old = textIn(given, "old") ?? "";
        const result = patched(before, { old, new: textIn(given, "new") ?? "", all: given.all === true });
        const mask = maskedBy(hands.secrets);
        if ("wrong" in result) throw refused(result.wrong, shown, mask(before), old);
        await replaceFile({
          to,
          shown,
          bytes: writable(result.after),
          read: stats,
          random: (size) => hands.clock.random(size),
          signal,
        });
        const places = result.places.length === 1 ? "" : ` in ${result.places.length} places`;
        const answer = `Changed ${shown}${places}:\n${diffOf(before, result, mask)}`;
        return { parts: [text(answer)] } satisfies ToolOutput;
      }),
  };
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
  const times = `old stands ${wrong.times} times in ${shown}.`;
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
