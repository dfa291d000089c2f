import { sessionToJson } from "../../../core/json.ts";
import type { Session } from "../../../core/session.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { type Io, printJson, printLine } from "../io.ts";
import { toAsker, withHome } from "../open-home.ts";
import { resolveSessionArgument } from "../session-argument.ts";
import { formatSessionLabel } from "./session-rows.ts";

const SEVERAL_SESSIONS = {
  takes: "SESSION…",
  words: [1, Number.POSITIVE_INFINITY],
  options: { everyone: EVERYONE_OPTION, json: JSON_OPTION },
} as const;

export const archiveSessionsCommand: Command = defineCommand({
  ...SEVERAL_SESSIONS,
  name: "sessions archive",
  about: "Hides sessions from the list. You can still search and resume them.",
  examples: [
    ["postrider sessions archive k7f", "hide a session"],
    ["postrider sessions list --archived", "list archived sessions"],
  ],
  run: ({ words, values }, io) => setArchived(io, words, values, true),
});

export const unarchiveSessionsCommand: Command = defineCommand({
  ...SEVERAL_SESSIONS,
  name: "sessions unarchive",
  about: "Shows archived sessions in the list again.",
  examples: [["postrider sessions unarchive k7f", "list it again"]],
  run: ({ words, values }, io) => setArchived(io, words, values, false),
});

async function setArchived(
  io: Io,
  names: readonly string[],
  values: { readonly everyone: boolean; readonly json: boolean },
  archived: boolean,
): Promise<void> {
  const who = toAsker(values.everyone);
  const changed = await withHome(io, async ({ store, sessions }) => {
    // Resolves all names before the first change.
    const found: Session[] = [];
    for (const name of names) found.push(await resolveSessionArgument(store, who, name));
    return Promise.all(found.map(({ id }) => sessions.archive(who, id, archived)));
  });
  if (values.json) return printJson(io, { sessions: changed.map(sessionToJson) });
  for (const session of changed)
    printLine(io, `${formatSessionLabel(session)} is ${archived ? "archived" : "listed again"}.`);
}
