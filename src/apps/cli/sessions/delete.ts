import { getText } from "../../../core/message.ts";
import type { Asker } from "../../../core/owner.ts";
import { pluralize } from "../../../core/pluralize.ts";
import { toOneLine } from "../../../core/printable.ts";
import type { Session } from "../../../core/session.ts";
import type { Store } from "../../../ports/store.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { confirm } from "../confirm.ts";
import { getOutputWidth, printJson, printLine, printNotice } from "../io.ts";
import { toAsker, withHome } from "../open-home.ts";
import { scrubHome } from "../scrub.ts";
import { resolveSessionArgument } from "../session-argument.ts";
import { cutToWidth } from "../width.ts";
import { formatOwner, formatSessionLabel } from "./session-rows.ts";

export const YES_OPTION = { type: "flag", short: "y", help: "do not ask for confirmation" } as const;

export const deleteSessionsCommand: Command = defineCommand({
  name: "sessions delete",
  takes: "SESSION…",
  words: [1, Number.POSITIVE_INFINITY],
  about:
    "Permanently deletes sessions with all their messages. A fork keeps the messages that it shares with its origin.\nTo only hide a session: postrider sessions archive.",
  options: { yes: YES_OPTION, everyone: EVERYONE_OPTION, json: JSON_OPTION },
  examples: [
    ["postrider sessions delete k7f", "shows the session and asks"],
    ["postrider sessions delete k7f m2q --yes", "deletes two sessions without asking"],
  ],
  async run({ words, values }, io) {
    const who = toAsker(values.everyone);
    const gone = await withHome(io, async ({ store, sessions }) => {
      const found = new Map<string, Session>();
      for (const name of words) {
        const session = await resolveSessionArgument(store, who, name);
        found.set(session.id, session);
      }
      const going = [...found.values()];
      if (!values.yes) {
        const width = Math.min(getOutputWidth(io), 100);
        for (const session of going)
          for (const line of await describeDeletion(store, who, session))
            printNotice(io, cutToWidth(line, width));
        const what = going.length === 1 ? "Delete it" : `Delete these ${going.length} sessions`;
        if (!(await confirm(io, `${what} permanently?`))) return undefined;
      }
      for (const { id } of going) await sessions.remove(who, id);
      return going;
    });
    if (gone === undefined) return 1;
    const scrubbed = await scrubHome(io);
    if (values.json) {
      const removed = gone.map(({ id, handle, title }) => ({ id, handle, title: title ?? null }));
      printJson(io, { removed, scrubbed });
    } else for (const session of gone) printLine(io, `${formatSessionLabel(session)} is deleted.`);
    return 0;
  },
});

/** Describes a session before its deletion, including its pending messages. */
async function describeDeletion(store: Store, asker: Asker, session: Session): Promise<string[]> {
  const { messageCount: count, owner } = session;
  const waiting = await store.inbox.listPending({ asker, session: session.id });
  return [
    `${formatSessionLabel(session)}: ${pluralize(count, "message")}, ${formatOwner(owner) === "you" ? "yours" : `of ${formatOwner(owner)}`}, id ${session.id}`,
    ...waiting.map((message) => `  pending: ${toOneLine(getText(message))}`),
  ];
}
