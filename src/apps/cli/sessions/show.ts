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

/** The number of messages before the requested one, as context. */
const CONTEXT_MESSAGES = 2;

export const showSessionCommand: Command = defineCommand({
  name: "sessions show",
  takes: "SESSION",
  words: [1, 1],
  about:
    "Shows the properties and the messages of a session.\nSESSION is a handle, a title, an id or a prefix of an id.",
  options: {
    limit: { type: "count", help: "only the last N messages; with --at, N messages from there" },
    at: { type: "count", value: "SEQ", help: "start at this message; search prints its number" },
    all: { type: "flag", help: "include messages that were undone or replaced by a summary" },
    "no-pager": { type: "flag", help: "print without a pager" },
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions show k7f", "show the session in a pager"],
    ['postrider sessions show "holiday plans" --limit 10', "show the last 10 messages"],
    ["postrider sessions show k7f --at 17", "show a search hit"],
  ],
  async run({ words: [name = ""], values }, io) {
    const who = toAsker(values.everyone);
    const { session, read, purposes } = await withStore(io, async ({ store }) => {
      const session = await resolveSessionArgument(store, who, name);
      const read = await readMessages(store, who, session, values.all);
      const { at } = values;
      // A search hit may have been undone since.
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
    ...(read.length === 0 ? [style.dim("There are no messages yet.")] : []),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}
