import { resolveHome } from "../home.ts";
import { type Io, printNotice } from "./io.ts";

/** Rewrites the database file without remnants of deleted data. False, with a notice, while other processes use it. */
export async function scrubHome(io: Io): Promise<boolean> {
  const { scrubDatabase } = await import("../../stores/sqlite/upkeep/scrub-database.ts");
  const isClean = await scrubDatabase(resolveHome(io.environment).database);
  if (!isClean) {
    printNotice(
      io,
      "Other processes use the database, so its files may still contain remnants of deleted data. End them, then run: postrider doctor --scrub",
    );
  }
  return isClean;
}
