import { resolveHome } from "../home.ts";
import { type Io, printNotice } from "./io.ts";

/**
 * Takes the remnants of what was removed out of the file, which SQLite leaves in the gaps of its pages. Writes the whole
 * file anew, so it is done once after everything is removed. False, with a word to the person, while others use the log.
 */
export async function scrubHome(io: Io): Promise<boolean> {
  const { scrubDatabase } = await import("../../stores/sqlite/upkeep/scrub-database.ts");
  const isClean = await scrubDatabase(resolveHome(io.environment).database);
  if (!isClean) {
    printNotice(
      io,
      "Other programs use the database, so remnants of removed words may still be in its files. End them, then: postrider doctor --scrub",
    );
  }
  return isClean;
}
