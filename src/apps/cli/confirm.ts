import { createInterface } from "node:readline";
import { PostriderError } from "../../core/errors.ts";
import { type Io, printNotice } from "./io.ts";

/** Asks for confirmation. Without a terminal it refuses; `--yes` skips the question. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  if (io.input.isTTY !== true) {
    throw new PostriderError(
      "not_allowed",
      "This command needs a confirmation, and there is no terminal to ask in. Nothing was changed. Add --yes to confirm.",
    );
  }
  const lines = createInterface({ input: io.input, output: io.notices, terminal: io.notices.isTTY === true });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.question(`${question} [y/N] `, resolve);
      lines.once("close", () => resolve(""));
    });
    const agreed = /^\s*y(?:es)?\s*$/i.test(answer);
    if (!agreed) printNotice(io, "Nothing was changed.");
    return agreed;
  } finally {
    lines.close();
  }
}
