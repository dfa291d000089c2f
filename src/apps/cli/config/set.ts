import { text as readAll } from "node:stream/consumers";
import { type SettingEdit, setSetting, unsetSetting } from "../../config/edit-file.ts";
import { resolveHome } from "../../home.ts";
import { type Command, defineCommand, JSON_OPTION } from "../command.ts";
import { type Io, printJson, printLine, printNotice } from "../io.ts";
import { maskValue } from "./effective-settings.ts";

export const setConfigCommand: Command = defineCommand({
  name: "config set",
  takes: "KEY VALUE",
  words: [2, 2],
  about: `Writes one setting into the home's config.yaml, keeping its comments and order. A value that is not valid is
refused, and nothing is written. VALUE - reads it from stdin, so that a secret stays out of the shell's history.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider config set timezone Europe/Berlin", "the zone of the daily hour"],
    ["postrider config set platforms.telegram.allow 42,43", "who may write to the bot"],
    ["postrider config set platforms.telegram.token - < token.txt", "a secret"],
  ],
  async run({ words: [key = "", given = ""], values }, io) {
    const value = given === "-" ? (await readAll(io.input)).trimEnd() : given;
    printEdit(io, key, setSetting(resolveHome(io.environment), key, value), values.json);
  },
});

export const unsetConfigCommand: Command = defineCommand({
  name: "config unset",
  takes: "KEY",
  words: [1, 1],
  about:
    "Takes one setting out of the home's config.yaml, so that postrider.yaml or the default counts again.",
  options: { json: JSON_OPTION },
  examples: [["postrider config unset session_reset.at_hour", "at 4 again"]],
  run({ words: [key = ""], values }, io) {
    return Promise.resolve(printEdit(io, key, unsetSetting(resolveHome(io.environment), key), values.json));
  },
});

function printEdit(io: Io, key: string, edited: SettingEdit, json: boolean): void {
  const { file, setting, changed } = edited;
  const value = maskValue(edited);
  if (json) printJson(io, { file, key, value, secret: setting.secret === true, changed });
  else if (value === null)
    printLine(io, changed ? `${key} is out of ${file}.` : `${key} was not in ${file}.`);
  else if (setting.secret === true) printLine(io, `${key} is set in ${file}, readable by you alone.`);
  else
    printLine(
      io,
      `${key} is ${typeof value === "object" ? value.join(", ") : value}${changed ? "" : " already"} (${file}).`,
    );
  const { variable } = setting;
  if (variable !== undefined && io.environment[variable])
    printNotice(io, `The variable ${variable} is set and comes before the file.`);
}
