import { onOneLine } from "../../../core/printable.ts";
import type { Session } from "../../../core/session.ts";
import { describeSource } from "../../../core/source.ts";
import type { PurposeUsage } from "../../../core/usage.ts";
import { costWords, purposeWords } from "../../../core/usage-words.ts";
import { dateAndTime, relativeTime } from "../relative-time.ts";
import { facts } from "../table.ts";
import { ownerName } from "./rows.ts";

const END_WORDS: Readonly<Record<string, string>> = {
  idle: "after a silence",
  daily: "at the daily hour",
  new: "a new one was asked for",
  switch: "the chat went to another session",
  merged: "two accounts were one",
  closed: "closed by hand",
};

/** What there is to know about a session, a line each. */
export function headerLines(
  session: Session,
  now: number,
  shown?: number,
  purposes: readonly PurposeUsage[] = [],
): string[] {
  const { usage, origin } = session;
  const number = (value: number): string => value.toLocaleString("en");
  const instant = (at: number): string => {
    const ago = relativeTime(at, now);
    return dateAndTime(at).startsWith(ago) ? dateAndTime(at) : `${dateAndTime(at)} (${ago})`;
  };
  const { endedAt, endReason, archivedAt } = session;
  return facts([
    ["title", session.title === undefined ? "(none)" : onOneLine(session.title)],
    ["handle", session.handle],
    ["id", session.id],
    ["kind", session.kind],
    ["owner", ownerName(session.owner)],
    ["from", origin === undefined ? "no chat" : onOneLine(`${describeSource(origin)} (${origin.platform})`)],
    ["created", instant(session.createdAt)],
    ["last", instant(session.lastAt)],
    [
      "messages",
      `${number(session.messageCount)}${shown === undefined || shown === session.messageCount ? "" : ` said here, ${number(shown)} shown`}`,
    ],
    [
      "tokens",
      usage.totalTokens === 0
        ? "none recorded"
        : `${number(usage.totalTokens)} (${number(usage.inputTokens)} in, ${number(usage.outputTokens)} out)`,
    ],
    ["used for", purposeWords(purposes)],
    ["cost", usage.totalTokens === 0 && usage.costUsd === undefined ? undefined : costWords(usage)],
    ["model", usage.model && onOneLine(usage.model)],
    ["folder", session.cwd && onOneLine(session.cwd)],
    ["parent", session.parent],
    [
      "ended",
      endedAt === undefined ? undefined : `${instant(endedAt)}: ${END_WORDS[endReason ?? ""] ?? endReason}`,
    ],
    ["archived", archivedAt === undefined ? undefined : instant(archivedAt)],
  ]);
}
