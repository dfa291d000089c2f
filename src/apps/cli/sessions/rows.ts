import type { Listed } from "../../../core/listing.ts";
import { OWNER } from "../../../core/owner.ts";
import { onOneLine } from "../../../core/printable.ts";
import type { Session } from "../../../core/session.ts";
import { relativeTime } from "../relative-time.ts";
import { type Column, table } from "../table.ts";

/** How a session is called on one line: its title, else how it began. */
export function nameOf(session: Session & Partial<Pick<Listed, "preview">>): string {
  return onOneLine(session.title ?? session.preview ?? "") || "(nothing said yet)";
}

/** `"holiday plans" (k7f)`, or only the handle. */
export function calledBy({ title, handle }: Pick<Session, "title" | "handle">): string {
  return title === undefined ? handle : `"${onOneLine(title)}" (${handle})`;
}

export function ownerName(owner: string): string {
  return owner === OWNER ? "you" : onOneLine(owner);
}

const HANDLE: Column = { heading: "HANDLE" };
const NAME: Column = { heading: "TITLE", least: 12 };
const OWNER_COLUMN: Column = { heading: "OWNER", least: 8, leaveOut: 1 };
const REST: readonly Column[] = [
  { heading: "PLATFORM", least: 8, leaveOut: 2 },
  { heading: "LAST" },
  { heading: "MESSAGES", align: "right", leaveOut: 3 },
];

export interface Rows {
  readonly width: number;
  readonly now: number;
  /** With a column for whose it is. */
  readonly everyone: boolean;
  heading?(line: string): string;
}

/** A line for each session, no wider than the terminal. */
export function sessionRows(sessions: readonly (Session | Listed)[], rows: Rows): string[] {
  const columns = [HANDLE, NAME, ...(rows.everyone ? [OWNER_COLUMN] : []), ...REST];
  const cells = sessions.map((session) => [
    session.handle,
    nameOf(session),
    ...(rows.everyone ? [ownerName(session.owner)] : []),
    session.origin?.platform ?? (session.kind === "chat" ? "" : session.kind),
    relativeTime(session.lastAt, rows.now),
    String("totalCount" in session ? session.totalCount : session.messageCount),
  ]);
  return table(columns, cells, rows.width, rows.heading);
}
