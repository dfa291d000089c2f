import { pluralize } from "../../core/pluralize.ts";
import { salvageDatabase } from "../../stores/sqlite/upkeep/salvage/salvage.ts";
import { type Io, printJson, printLine, printNotice } from "./io.ts";

/** Saves the readable part of a broken database file and reports the rest. */
export async function runSalvage(file: string, io: Io, json: boolean): Promise<number> {
  const saved = salvageDatabase(file, io.now());
  if (json) {
    const { lostFrames, unreadable, ...rest } = saved;
    printJson(io, { ...rest, lost_frames: lostFrames, unreadable_pages: unreadable });
    return 0;
  }
  printLine(
    io,
    `Saved ${pluralize(saved.sessions, "session")} with ${pluralize(saved.messages, "message")} in ${saved.file}.`,
  );
  for (const { table, saved: rows, dropped } of saved.tables)
    printLine(
      io,
      `  ${table}: ${pluralize(rows, "row")}${dropped > 0 ? `, ${dropped} inconsistent left out` : ""}`,
    );
  for (const text of saved.mended) printLine(io, `  ${text}`);
  const { unreadable, pages, losses, cut } = saved;
  printLine(io, unreadable.length === 0 ? "All pages were readable." : formatUnreadable(unreadable, pages));
  if (saved.broken > 0)
    printLine(io, `${pluralize(saved.broken, "entry", "entries")} on other pages were unreadable.`);
  if (saved.lostFrames > 0)
    printLine(
      io,
      `${pluralize(saved.lostFrames, "page")} of the write-ahead log after a broken one were not usable.`,
    );
  for (const { session, handle, title, lost } of losses) {
    const named = [handle ?? "", title ?? ""].filter((text) => text !== "").join(", ");
    const ranges = lost.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
    printLine(io, `Lost in ${session}${named === "" ? "" : ` (${named})`}: message ${ranges}`);
  }
  for (const { session, seq } of cut) printLine(io, `Cut off in ${session}: message ${seq}`);
  printNotice(io, `${file} is unchanged. To use the saved data: postrider restore ${saved.file} --replace`);
  return 0;
}

function formatUnreadable(unreadable: readonly number[], pages: number): string {
  const shown = unreadable.slice(0, 20).join(", ");
  return `${unreadable.length} of ${pages} pages were unreadable, or have no readable parent: ${shown}${unreadable.length > 20 ? ", …" : ""}`;
}
