import { homeOf } from "../home.ts";
import { type Io, note } from "./io.ts";

/**
 * Takes the remnants of what was removed out of the file, which SQLite leaves in the gaps of its pages. Writes the whole
 * file anew, so it is done once after everything is removed. False, with a word to the person, while others use the log.
 */
export async function scrub(io: Io): Promise<boolean> {
  const { scrubDatabase } = await import("../../stores/sqlite/upkeep/scrubbing.ts");
  const isClean = await scrubDatabase(homeOf(io.environment).database);
  if (!isClean) {
    note(
      io,
      "Other programs use the database, so remnants of removed words may still be in its files. End them, then: postrider doctor --scrub",
    );
  }
  return isClean;
}
