import { countersToJson, sessionToJson } from "../../../core/json.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Session } from "../../../core/session.ts";
import { type PurposeUsage, sumByPurpose } from "../../../core/usage.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { getOutputWidth, type Io, printJson } from "../io.ts";
import { formatMessageLines } from "../message-text.ts";
import { toAsker, withStore } from "../open-home.ts";
import { formatMessageJson } from "../output-json.ts";
import { showInPager } from "../pager.ts";
import { resolveSessionArgument } from "../session-argument.ts";
import { createStyle } from "../style.ts";
import { formatSessionHeader } from "./header.ts";
import { findMessageIndex, type MessageEntry, messageNotFound, readMessages } from "./read-messages.ts";

/** What stands before a message that was asked for, so that it can be understood. */
const CONTEXT_MESSAGES = 2;

export const showSessionCommand: Command = defineCommand({
  name: "sessions show",
  takes: "SESSION",
  words: [1, 1],
  about:
    "One session: what is known about it, and what was said, as people read it.\nSESSION is a handle, a title, an id or the beginning of an id.",
  options: {
    limit: { type: "count", help: "only the last N messages; with --at, N from there on" },
    at: { type: "count", value: "SEQ", help: "begin at this message: search names it" },
    all: { type: "flag", help: "also what is not shown any more: undone or replaced by a summary" },
    "no-pager": { type: "flag", help: "write everything at once" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions show k7f", "everything it shows, a screen at a time"],
    ['postrider sessions show "holiday plans" --limit 10', "how it ended"],
    ["postrider sessions show k7f --at 17", "what a search found"],
  ],
  async run({ words: [name = ""], values }, io) {
    const who = toAsker(values.everyone);
    const { session, read, purposes } = await withStore(io, async ({ store }) => {
      const session = await resolveSessionArgument(store, who, name);
      const read = await readMessages(store, who, session, values.all);
      const { at } = values;
      // What search found may have been undone since.
      const hidden = at !== undefined && findMessageIndex(read, session, at) === undefined;
      const entries = (await store.sessions.listUsageEntries({ asker: who, session: session.id })) ?? [];
      return {
        session,
        read: hidden ? await readMessages(store, who, session, true) : read,
        purposes: sumByPurpose(entries),
      };
    });
    const chosen = selectMessages(session, read, values.at, values.limit);
    if (values.json) {
      const messages = chosen.map(({ message, shown }) => ({ ...formatMessageJson(message), shown }));
      const usage = purposes.map((one) => ({ purpose: one.purpose, ...countersToJson(one.usage) }));
      return printJson(io, { session: sessionToJson(session), usage_by_purpose: usage, messages });
    }
    const shown = { read, chosen, purposes, at: values.at };
    await showInPager(io, formatSession(io, session, shown), !values["no-pager"]);
  },
});

function selectMessages(
  session: Session,
  read: readonly MessageEntry[],
  at: number | undefined,
  limit: number | undefined,
): readonly MessageEntry[] {
  if (at === undefined) return limit === undefined ? read : read.slice(Math.max(0, read.length - limit));
  const place = findMessageIndex(read, session, at);
  if (place === undefined) throw messageNotFound(session, at);
  const from = Math.max(0, place - CONTEXT_MESSAGES);
  return read.slice(from, limit === undefined ? undefined : place + limit);
}

function formatSession(
  io: Io,
  session: Session,
  {
    read,
    chosen,
    purposes,
    at,
  }: {
    readonly read: readonly MessageEntry[];
    readonly chosen: readonly MessageEntry[];
    readonly purposes: readonly PurposeUsage[];
    readonly at: number | undefined;
  },
): string {
  const style = createStyle(io);
  const rule = "─".repeat(Math.min(60, getOutputWidth(io)));
  const marked = at === undefined ? undefined : read[findMessageIndex(read, session, at) ?? -1];
  const left = read.length - chosen.length;
  const lines = [
    ...formatSessionHeader(session, io.now(), read.filter(({ shown }) => shown).length, purposes),
    style.dim(rule),
    ...(left > 0 ? [style.dim(`${left} more without ${at === undefined ? "--limit" : "--at"}`), ""] : []),
    ...chosen.flatMap((one) =>
      formatMessageLines(
        one.message,
        { session: session.id, isOwn: session.owner === OWNER, notShown: !one.shown, marked: one === marked },
        style,
      ),
    ),
    ...(read.length === 0 ? [style.dim("Nothing was said here yet.")] : []),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}
