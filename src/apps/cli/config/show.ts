import { toOneLine } from "../../../core/printable.ts";
import { formatConfigProblem } from "../../config/config-problem.ts";
import { requireSetting } from "../../config/edit-file.ts";
import { readLayers } from "../../config/layers.ts";
import { listNamesBelow } from "../../config/settings.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { getOutputWidth, printJson, printLine, printNotice } from "../io.ts";
import { createStyle } from "../style.ts";
import { formatTable } from "../table.ts";
import { formatOrigin, formatOriginJson, listEffectiveSettings, maskValue } from "./effective-settings.ts";
import { locateConfig } from "./local-config.ts";

export const showConfigCommand: Command = defineCommand({
  name: "config show",
  takes: "[KEY]",
  words: [0, 1],
  about: `Shows the effective configuration. The environment overrides ~/.postrider/config.yaml, which overrides postrider.yaml
in this folder, which overrides the defaults. KEY is a setting or a section. Secrets are not shown.`,
  options: {
    origin: { type: "flag", help: "show the origin of each value" },
    json: JSON_OPTION,
  },
  examples: [
    ["postrider config show --origin", "all settings with their origin"],
    ["postrider config show session_reset", "one section"],
  ],
  run({ words: [key], values }, io) {
    if (key !== undefined && listNamesBelow(key.split(".")) === undefined) requireSetting(key);
    const layers = readLayers(locateConfig(io));
    const rows = listEffectiveSettings(layers, key);
    for (const problem of layers.problems) printNotice(io, `postrider: ${formatConfigProblem(problem)}`);
    if (values.json) {
      const settings = rows.map((row) => ({
        key: row.key,
        value: maskValue(row),
        secret: row.setting.secret === true,
        origin: formatOriginJson(row.origin),
      }));
      printJson(io, { files: layers.files, settings });
    } else {
      const columns = [{ heading: "KEY" }, { heading: "VALUE", least: 12 }, { heading: "FROM", least: 12 }];
      const lines = rows.map((row) => [row.key, formatSetting(maskValue(row)), formatOrigin(row.origin)]);
      const shown = values.origin ? columns : columns.slice(0, 2);
      printLine(io, formatTable(shown, lines, getOutputWidth(io), createStyle(io).dim).join("\n"));
    }
    return Promise.resolve(layers.problems.length === 0 ? 0 : 1);
  },
});

function formatSetting(value: ReturnType<typeof maskValue>): string {
  if (value === null) return "-";
  return toOneLine(typeof value === "object" ? value.join(", ") : String(value));
}
