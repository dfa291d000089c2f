import { countersToJson, sessionToJson } from "../../../core/json.ts";
import { OWNER } from "../../../core/owner.ts";
import type { Session } from "../../../core/session.ts";
import { type PurposeUsage, usageByPurpose } from "../../../core/usage.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { type Io, sayJson, widthOf } from "../io.ts";
import { messageLines } from "../message-text.ts";
import { asker, withStore } from "../opening.ts";
import { messageJson } from "../output-json.ts";
import { page } from "../pager.ts";
import { sessionArgument } from "../session-argument.ts";
import { styleOf } from "../style.ts";
import { headerLines } from "./header.ts";
import { noMessage, placeOf, type Read, readMessages } from "./reading.ts";

/** What stands before a message that was asked for, so that it can be understood. */
const BEFORE = 2;

export const show: Command = defineCommand({
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
    const who = asker(values.everyone);
    const { session, read, purposes } = await withStore(io, async ({ store }) => {
      const session = await sessionArgument(store, who, name);
      const read = await readMessages(store, who, session, values.all);
      const { at } = values;
      // What search found may have been undone since.
      const hidden = at !== undefined && placeOf(read, session, at) === undefined;
      const entries = (await store.usageEntries({ asker: who, session: session.id })) ?? [];
      return {
        session,
        read: hidden ? await readMessages(store, who, session, true) : read,
        purposes: usageByPurpose(entries),
      };
    });
    const chosen = choose(session, read, values.at, values.limit);
    if (values.json) {
      const messages = chosen.map(({ message, shown }) => ({ ...messageJson(message), shown }));
      const usage = purposes.map((one) => ({ purpose: one.purpose, ...countersToJson(one.usage) }));
      return sayJson(io, { session: sessionToJson(session), usage_by_purpose: usage, messages });
    }
    const shown = { read, chosen, purposes, at: values.at };
    await page(io, textOf(io, session, shown), !values["no-pager"]);
  },
});

function choose(
  session: Session,
  read: readonly Read[],
  at: number | undefined,
  limit: number | undefined,
): readonly Read[] {
  if (at === undefined) return limit === undefined ? read : read.slice(Math.max(0, read.length - limit));
  const place = placeOf(read, session, at);
  if (place === undefined) throw noMessage(session, at);
  const from = Math.max(0, place - BEFORE);
  return read.slice(from, limit === undefined ? undefined : place + limit);
}

function textOf(
  io: Io,
  session: Session,
  {
    read,
    chosen,
    purposes,
    at,
  }: {
    readonly read: readonly Read[];
    readonly chosen: readonly Read[];
    readonly purposes: readonly PurposeUsage[];
    readonly at: number | undefined;
  },
): string {
  const style = styleOf(io);
  const rule = "─".repeat(Math.min(60, widthOf(io)));
  const marked = at === undefined ? undefined : read[placeOf(read, session, at) ?? -1];
  const left = read.length - chosen.length;
  const lines = [
    ...headerLines(session, io.now(), read.filter(({ shown }) => shown).length, purposes),
    style.dim(rule),
    ...(left > 0 ? [style.dim(`${left} more without ${at === undefined ? "--limit" : "--at"}`), ""] : []),
    ...chosen.flatMap((one) =>
      messageLines(
        one.message,
        { session: session.id, isOwn: session.owner === OWNER, notShown: !one.shown, marked: one === marked },
        style,
      ),
    ),
    ...(read.length === 0 ? [style.dim("Nothing was said here yet.")] : []),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}
