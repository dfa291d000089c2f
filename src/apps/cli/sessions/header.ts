import { formatCost, formatPurposes } from "../../../core/format-usage.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Session } from "../../../core/session.ts";
import { describeSource } from "../../../core/source.ts";
import type { PurposeUsage } from "../../../core/usage.ts";
import { formatDateTime, formatRelativeTime } from "../format-time.ts";
import { formatFacts } from "../table.ts";
import { formatOwner } from "./session-rows.ts";

const END_REASON_TEXT: Readonly<Record<string, string>> = {
  idle: "idle time-out",
  daily: "daily reset",
  new: "a person started a new session",
  switch: "the chat switched to another session",
  merged: "two accounts were linked",
  closed: "closed by a person",
};

/** Formats the properties of a session, one per line. */
export function formatSessionHeader(
  session: Session,
  now: number,
  shown?: number,
  purposes: readonly PurposeUsage[] = [],
): string[] {
  const { usage, origin } = session;
  const number = (value: number): string => value.toLocaleString("en");
  const instant = (at: number): string => {
    const ago = formatRelativeTime(at, now);
    return formatDateTime(at).startsWith(ago) ? formatDateTime(at) : `${formatDateTime(at)} (${ago})`;
  };
  const { endedAt, endReason, archivedAt } = session;
  return formatFacts([
    ["title", session.title === undefined ? "(none)" : toOneLine(session.title)],
    ["handle", session.handle],
    ["id", session.id],
    ["kind", session.kind],
    ["owner", formatOwner(session.owner)],
    ["from", origin === undefined ? "no chat" : toOneLine(`${describeSource(origin)} (${origin.platform})`)],
    ["created", instant(session.createdAt)],
    ["last", instant(session.lastAt)],
    [
      "messages",
      `${number(session.messageCount)}${shown === undefined || shown === session.messageCount ? "" : ` stored, ${number(shown)} shown`}`,
    ],
    [
      "tokens",
      usage.totalTokens === 0
        ? "none recorded"
        : `${number(usage.totalTokens)} (${number(usage.inputTokens)} in, ${number(usage.outputTokens)} out)`,
    ],
    ["used for", formatPurposes(purposes)],
    ["cost", usage.totalTokens === 0 && usage.costUsd === undefined ? undefined : formatCost(usage)],
    ["model", usage.model && toOneLine(usage.model)],
    ["folder", session.cwd && toOneLine(session.cwd)],
    ["parent", session.parent],
    [
      "ended",
      endedAt === undefined
        ? undefined
        : `${instant(endedAt)}: ${END_REASON_TEXT[endReason ?? ""] ?? endReason}`,
    ],
    ["archived", archivedAt === undefined ? undefined : instant(archivedAt)],
  ]);
}
