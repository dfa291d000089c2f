import { onOneLine } from "../../../core/printable.ts";
import { settingNamed } from "../../config/edit-file.ts";
import { namesBelow } from "../../config/keys.ts";
import { readLayers } from "../../config/layers.ts";
import { problemLine } from "../../config/problem.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { note, say, sayJson, widthOf } from "../io.ts";
import { styleOf } from "../style.ts";
import { table } from "../table.ts";
import { effective, originJson, originText, shownValue } from "./effective.ts";
import { placeOf } from "./here.ts";

export const show: Command = defineCommand({
  name: "config show",
  takes: "[KEY]",
  words: [0, 1],
  about: `The configuration that counts: environment before ~/.postrider/config.yaml before postrider.yaml here before
defaults. KEY is a setting or a section. Secrets are not shown.`,
  options: {
    origin: { type: "flag", help: "where each value comes from" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider config show --origin", "everything, and why it is so"],
    ["postrider config show session_reset", "one section"],
  ],
  run({ words: [key], values }, io) {
    if (key !== undefined && namesBelow(key.split(".")) === undefined) settingNamed(key);
    const layers = readLayers(placeOf(io));
    const rows = effective(layers, key);
    for (const problem of layers.problems) note(io, `postrider: ${problemLine(problem)}`);
    if (values.json) {
      const settings = rows.map((row) => ({
        key: row.key,
        value: shownValue(row),
        secret: row.setting.secret === true,
        origin: originJson(row.origin),
      }));
      sayJson(io, { files: layers.files, settings });
    } else {
      const columns = [{ heading: "KEY" }, { heading: "VALUE", least: 12 }, { heading: "FROM", least: 12 }];
      const lines = rows.map((row) => [row.key, text(shownValue(row)), originText(row.origin)]);
      const shown = values.origin ? columns : columns.slice(0, 2);
      say(io, table(shown, lines, widthOf(io), styleOf(io).dim).join("\n"));
    }
    return Promise.resolve(layers.problems.length === 0 ? 0 : 1);
  },
});

function text(value: ReturnType<typeof shownValue>): string {
  if (value === null) return "-";
  return onOneLine(typeof value === "object" ? value.join(", ") : String(value));
}
