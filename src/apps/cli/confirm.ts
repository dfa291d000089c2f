import { createInterface } from "node:readline";
import { PostriderError } from "../../core/errors.ts";
import { type Io, printNotice } from "./io.ts";

/** Asks a person. Where nobody can be asked, it is refused: `--yes` says it beforehand. */
export async function confirm(io: Io, question: string): Promise<boolean> {
  if (io.input.isTTY !== true) {
    throw new PostriderError(
      "not_allowed",
      "Nobody can be asked here, so nothing was done. Add --yes if you are sure.",
    );
  }
  const lines = createInterface({ input: io.input, output: io.notices, terminal: io.notices.isTTY === true });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.question(`${question} [y/N] `, resolve);
      lines.once("close", () => resolve(""));
    });
    const agreed = /^\s*y(?:es)?\s*$/i.test(answer);
    if (!agreed) printNotice(io, "Nothing was done.");
    return agreed;
  } finally {
    lines.close();
  }
}
