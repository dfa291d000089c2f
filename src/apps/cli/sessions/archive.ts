import { sessionToJson } from "../../../core/json.ts";
import type { Session } from "../../../core/session.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { type Io, say, sayJson } from "../io.ts";
import { asker, withHome } from "../opening.ts";
import { sessionArgument } from "../session-argument.ts";
import { calledBy } from "./rows.ts";

const SEVERAL = {
  takes: "SESSION…",
  words: [1, Number.POSITIVE_INFINITY],
  options: { everyone: EVERYONE_OPTION, json: JSON_OPTION },
} as const;

export const archive: Command = defineCommand({
  ...SEVERAL,
  name: "sessions archive",
  about: "Puts sessions away: they are no longer listed, and stay whole, searchable and resumable.",
  examples: [
    ["postrider sessions archive k7f", "out of the list"],
    ["postrider sessions list --archived", "what was put away"],
  ],
  run: ({ words, values }, io) => setArchived(io, words, values, true),
});

export const unarchive: Command = defineCommand({
  ...SEVERAL,
  name: "sessions unarchive",
  about: "Takes sessions back into the list.",
  examples: [["postrider sessions unarchive k7f", "listed again"]],
  run: ({ words, values }, io) => setArchived(io, words, values, false),
});

async function setArchived(
  io: Io,
  names: readonly string[],
  values: { readonly everyone: boolean; readonly json: boolean },
  archived: boolean,
): Promise<void> {
  const who = asker(values.everyone);
  const changed = await withHome(io, async ({ store, sessions }) => {
    // All are found before any is changed.
    const found: Session[] = [];
    for (const name of names) found.push(await sessionArgument(store, who, name));
    return Promise.all(found.map(({ id }) => sessions.archive(who, id, archived)));
  });
  if (values.json) return sayJson(io, { sessions: changed.map(sessionToJson) });
  for (const session of changed)
    say(io, `${calledBy(session)} is ${archived ? "archived" : "listed again"}.`);
}
