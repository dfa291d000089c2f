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
  about:
    "Removes sessions that have ended and were not used for a long time. Shows them first; --yes does it.",
  options: {
    "older-than": { type: "count", value: "DAYS", help: `not used for so many days (${DEFAULT_DAYS})` },
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
      return printNotice(io, `No ended session was unused for ${pluralize(days, "day")}. Nothing to remove.`);
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
      yes ? `${count} removed for good.` : `${count} would be removed. Nothing was done: --yes does it.`,
    );
  },
});
