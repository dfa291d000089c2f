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
  about: `Writes one setting to the home's config.yaml and keeps comments and order. An invalid value changes nothing.
VALUE - reads the value from stdin, which keeps a secret out of the shell history.`,
  options: { json: JSON_OPTION },
  examples: [
    ["postrider config set timezone Europe/Berlin", "the time zone of the daily reset"],
    ["postrider config set platforms.telegram.allow 42,43", "the users who may write to the bot"],
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
    "Removes one setting from the home's config.yaml. The value in postrider.yaml or the default applies again.",
  options: { json: JSON_OPTION },
  examples: [["postrider config unset session_reset.at_hour", "back to the default, 4"]],
  run({ words: [key = ""], values }, io) {
    return Promise.resolve(printEdit(io, key, unsetSetting(resolveHome(io.environment), key), values.json));
  },
});

function printEdit(io: Io, key: string, edited: SettingEdit, json: boolean): void {
  const { file, setting, changed } = edited;
  const value = maskValue(edited);
  if (json) printJson(io, { file, key, value, secret: setting.secret === true, changed });
  else if (value === null)
    printLine(io, changed ? `${key} is removed from ${file}.` : `${key} is not set in ${file}.`);
  else if (setting.secret === true) printLine(io, `${key} is set in ${file}. Only you can read the file.`);
  else
    printLine(
      io,
      `${key} is ${typeof value === "object" ? value.join(", ") : value}${changed ? "" : " already"} (${file}).`,
    );
  const { variable } = setting;
  if (variable !== undefined && io.environment[variable])
    printNotice(io, `The environment variable ${variable} is set and overrides the file.`);
}
