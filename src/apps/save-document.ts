import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { PostriderError } from "../core/errors.ts";

/** Writes an exported document into a folder, readable by its owner alone. Returns what to say. */
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
    const why = code === "EEXIST" ? "there is a file of that name already; move it away first" : message;
    throw new PostriderError(
      code === "EEXIST" ? "file_exists" : "invalid_input",
      `${file} was not written: ${why}.`,
      { cause: error, details: { file } },
    );
  }
}
