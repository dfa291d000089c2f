import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { PostriderError } from "../core/errors.ts";

/** Writes an exported document as a private file. Returns the sentence for the person. */
export function saveDocument(
  { name, text }: { readonly name: string; readonly text: string },
  folder: string = process.cwd(),
): string {
  const file = resolve(folder, name);
  try {
    writeFileSync(file, text, { mode: 0o600, flag: "wx" });
    return `Written to ${file}`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === "EEXIST" ? "a file with this name exists; rename it first" : message;
    throw new PostriderError(
      code === "EEXIST" ? "file_exists" : "invalid_input",
      `Cannot write ${file}: ${reason}.`,
      { cause: error, details: { file } },
    );
  }
}
