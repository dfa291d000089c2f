import type { ListedSession } from "../../../core/listing.ts";
import { OWNER } from "../../../core/owner.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Session } from "../../../core/session.ts";
import { formatRelativeTime } from "../format-time.ts";
import { type Column, formatTable } from "../table.ts";

/** The title of a session, or else its first words, on one line. */
export function formatSessionTitle(session: Session & Partial<Pick<ListedSession, "preview">>): string {
  return toOneLine(session.title ?? session.preview ?? "") || "(no messages yet)";
}

/** Formats a session as `"holiday plans" (k7f)`, or only its handle. */
export function formatSessionLabel({ title, handle }: Pick<Session, "title" | "handle">): string {
  return title === undefined ? handle : `"${toOneLine(title)}" (${handle})`;
}

export function formatOwner(owner: string): string {
  return owner === OWNER ? "you" : toOneLine(owner);
}

const HANDLE_COLUMN: Column = { heading: "HANDLE" };
const NAME_COLUMN: Column = { heading: "TITLE", least: 12 };
const OWNER_COLUMN: Column = { heading: "OWNER", least: 8, leaveOut: 1 };
const OTHER_COLUMNS: readonly Column[] = [
  { heading: "PLATFORM", least: 8, leaveOut: 2 },
  { heading: "LAST" },
  { heading: "MESSAGES", align: "right", leaveOut: 3 },
];

export interface SessionRowOptions {
  readonly width: number;
  readonly now: number;
  /** Adds the owner column. */
  readonly everyone: boolean;
  heading?(line: string): string;
}

/** One line per session, no wider than the terminal. */
export function formatSessionRows(
  sessions: readonly (Session | ListedSession)[],
  rows: SessionRowOptions,
): string[] {
  const columns = [HANDLE_COLUMN, NAME_COLUMN, ...(rows.everyone ? [OWNER_COLUMN] : []), ...OTHER_COLUMNS];
  const cells = sessions.map((session) => [
    session.handle,
    formatSessionTitle(session),
    ...(rows.everyone ? [formatOwner(session.owner)] : []),
    session.origin?.platform ?? (session.kind === "chat" ? "" : session.kind),
    formatRelativeTime(session.lastAt, rows.now),
    String("totalCount" in session ? session.totalCount : session.messageCount),
  ]);
  return formatTable(columns, cells, rows.width, rows.heading);
}
