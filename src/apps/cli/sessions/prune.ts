import { sessionToJson } from "../../../core/json.ts";
import { plural } from "../../../core/plural.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { note, say, sayJson, widthOf } from "../io.ts";
import { asker, withHome } from "../opening.ts";
import { scrub } from "../scrub.ts";
import { styleOf } from "../style.ts";
import { YES_OPTION } from "./delete.ts";
import { KIND_OPTION, kindsOf, PLATFORM_OPTION, platformOf } from "./filters.ts";
import { sessionRows } from "./rows.ts";

const NAME = "sessions prune";
const DAYS = 90;

export const prune: Command = defineCommand({
  name: NAME,
  about:
    "Removes sessions that have ended and were not used for a long time. Shows them first; --yes does it.",
  options: {
    "older-than": { type: "count", value: "DAYS", help: `not used for so many days (${DAYS})` },
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    yes: YES_OPTION,
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions prune", "what would go"],
    ["postrider sessions prune --kind job --older-than 30 --yes", "old runs of jobs, for good"],
  ],
  async run({ values }, io) {
    const { "older-than": days = DAYS, yes } = values;
    const options = {
      olderThanDays: days,
      dryRun: !yes,
      ...platformOf(values.platform),
      ...kindsOf(values.kind, NAME),
    };
    const gone = await withHome(io, ({ sessions }) => sessions.prune(asker(values.everyone), options));
    const scrubbed = yes && gone.length > 0 ? await scrub(io) : false;
    if (values.json) return sayJson(io, { sessions: gone.map(sessionToJson), removed: yes, scrubbed });
    if (gone.length === 0)
      return note(io, `No ended session was unused for ${plural(days, "day")}. Nothing to remove.`);
    const rows = { width: widthOf(io), now: io.now(), everyone: values.everyone, heading: styleOf(io).dim };
    say(io, sessionRows(gone, rows).join("\n"));
    const count = plural(gone.length, "session");
    note(
      io,
      yes ? `${count} removed for good.` : `${count} would be removed. Nothing was done: --yes does it.`,
    );
  },
});
