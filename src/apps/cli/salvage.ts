import { plural } from "../../core/plural.ts";
import { salvageDatabase } from "../../stores/sqlite/upkeep/salvage/salvage.ts";
import { type Io, note, say, sayJson } from "./io.ts";

/** Saves what can be read of a broken file, and says what cannot. */
export async function salvage(file: string, io: Io, json: boolean): Promise<number> {
  const saved = salvageDatabase(file, io.now());
  if (json) {
    const { lostFrames, unreadable, ...rest } = saved;
    sayJson(io, { ...rest, lost_frames: lostFrames, unreadable_pages: unreadable });
    return 0;
  }
  say(
    io,
    `Saved ${plural(saved.sessions, "session")} with ${plural(saved.messages, "message")} in ${saved.file}.`,
  );
  for (const { table, saved: rows, dropped } of saved.tables)
    say(
      io,
      `  ${table}: ${plural(rows, "row")}${dropped > 0 ? `, ${dropped} that contradict others left out` : ""}`,
    );
  for (const text of saved.mended) say(io, `  ${text}`);
  const { unreadable, pages, losses, cut } = saved;
  say(io, unreadable.length === 0 ? "Every page could be read." : unreadableText(unreadable, pages));
  if (saved.broken > 0)
    say(io, `${plural(saved.broken, "entry", "entries")} on other pages could not be read.`);
  if (saved.lostFrames > 0)
    say(io, `${plural(saved.lostFrames, "page")} of the log after a broken one could not be used.`);
  for (const { session, handle, title, lost } of losses) {
    const named = [handle ?? "", title ?? ""].filter((text) => text !== "").join(", ");
    const ranges = lost.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
    say(io, `Lost in ${session}${named === "" ? "" : ` (${named})`}: message ${ranges}`);
  }
  for (const { session, seq } of cut) say(io, `Only the beginning is left in ${session}: message ${seq}`);
  note(
    io,
    `${file} was left as it is. To go on with what was saved: postrider restore ${saved.file} --replace`,
  );
  return 0;
}

function unreadableText(unreadable: readonly number[], pages: number): string {
  const shown = unreadable.slice(0, 20).join(", ");
  return `${unreadable.length} of ${pages} pages could not be read, or belong to nothing that could: ${shown}${unreadable.length > 20 ? ", …" : ""}`;
}
