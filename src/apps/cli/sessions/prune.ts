import { sessionToJson } from "../../../core/json.ts";
import { pluralize } from "../../../core/pluralize.ts";
import { type Command, defineCommand, EVERYONE_OPTION, JSON_OPTION } from "../command.ts";
import { getOutputWidth, printJson, printLine, printNotice } from "../io.ts";
import { toAsker, withHome } from "../open-home.ts";
import { scrubHome } from "../scrub.ts";
import { createStyle } from "../style.ts";
import { YES_OPTION } from "./delete.ts";
import { KIND_OPTION, PLATFORM_OPTION, parseKinds, parsePlatform } from "./filters.ts";
import { formatSessionRows } from "./session-rows.ts";

const NAME = "sessions prune";
const DEFAULT_DAYS = 90;

export const pruneSessionsCommand: Command = defineCommand({
  name: NAME,
  about: "Permanently deletes sessions that have ended and are old. Without --yes it only lists them.",
  options: {
    "older-than": {
      type: "count",
      value: "DAYS",
      help: `without activity for this many days (default ${DEFAULT_DAYS})`,
    },
    platform: PLATFORM_OPTION,
    kind: KIND_OPTION,
    yes: YES_OPTION,
    everyone: EVERYONE_OPTION,
    json: JSON_OPTION,
  },
  examples: [
    ["postrider sessions prune", "list the sessions that it would delete"],
    ["postrider sessions prune --kind job --older-than 30 --yes", "delete old runs of jobs"],
  ],
  async run({ values }, io) {
    const { "older-than": days = DEFAULT_DAYS, yes } = values;
    const options = {
      olderThanDays: days,
      dryRun: !yes,
      ...parsePlatform(values.platform),
      ...parseKinds(values.kind, NAME),
    };
    const gone = await withHome(io, ({ sessions }) => sessions.prune(toAsker(values.everyone), options));
    const scrubbed = yes && gone.length > 0 ? await scrubHome(io) : false;
    if (values.json) return printJson(io, { sessions: gone.map(sessionToJson), removed: yes, scrubbed });
    if (gone.length === 0)
      return printNotice(
        io,
        `There is nothing to delete: no ended session is older than ${pluralize(days, "day")}.`,
      );
    const rows = {
      width: getOutputWidth(io),
      now: io.now(),
      everyone: values.everyone,
      heading: createStyle(io).dim,
    };
    printLine(io, formatSessionRows(gone, rows).join("\n"));
    const count = pluralize(gone.length, "session");
    printNotice(
      io,
      yes ? `${count} deleted.` : `${count} would be deleted. Nothing was changed. Add --yes to delete.`,
    );
  },
});
