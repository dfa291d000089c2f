import { closeSync, openSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../core/errors.ts";
import { type Home, makeHome } from "../home.ts";
import { type ConfigFileText, getHomeConfigFile, readConfigText } from "./config-files.ts";
import { createInvalidConfigError } from "./config-problem.ts";
import { commitDraftFile, listDraftFiles, writeDraftFile } from "./draft-file.ts";
import { editText } from "./edit-text.ts";
import { findFoldersInHome } from "./folders-in-home.ts";
import { parseTextLayer } from "./layers.ts";
import { describeUnknownKey } from "./nearest-key.ts";
import { checkValue } from "./schema.ts";
import { findSetting, isListKind, listNamesBelow, type Setting, type SettingValue } from "./settings.ts";
import { readYaml } from "./yaml-text.ts";

export interface SettingEdit {
  readonly file: string;
  readonly setting: Setting;
  readonly value?: SettingValue;
  /** False when the file already had this value. */
  readonly changed: boolean;
}

/** Finds a setting by its key. */
export function requireSetting(key: string): Setting {
  const path = key.split(".");
  const setting = findSetting(path);
  if (setting !== undefined && setting.key.split(".").length === path.length) return setting;
  const below = setting === undefined ? listNamesBelow(path) : undefined;
  const names = below?.map((name) => `${key}.${name === "*" ? "NAME" : name}`).join(", ");
  throw createInvalidConfigError([
    { key, text: names === undefined ? describeUnknownKey(path) : `is a section; use one of ${names}` },
  ]);
}

/** Writes one setting to the home's file. An invalid value throws and changes nothing. */
export function setSetting(home: Home, key: string, text: string): SettingEdit {
  const setting = requireSetting(key);
  const isWrittenList = isListKind(setting.kind) && text.trim().startsWith("[");
  const raw = isWrittenList ? (readYaml(`list: ${text}`).root.list ?? text) : text;
  const checked = checkValue(setting, raw);
  if ("text" in checked) throw createInvalidConfigError([{ key, text: checked.text }]);
  return editSetting(home, key, setting, checked.value);
}

/** Removes a setting from the home's file: the project's file or the default applies again. */
export function unsetSetting(home: Home, key: string): SettingEdit {
  return editSetting(home, key, requireSetting(key), undefined);
}

function editSetting(
  home: Home,
  key: string,
  setting: Setting,
  value: SettingValue | undefined,
): SettingEdit {
  makeHome(home);
  return withConfigLock(home, () => {
    for (;;) {
      const file = resolveLinks(getHomeConfigFile(home));
      const before = readConfigText(file);
      if (before.state === "unreadable") throw createInvalidConfigError([before.problem]);
      const text = before.state === "read" ? before.text : "";
      const edited = editText(text, key.split("."), value);
      // Checked even if the edit failed, because the problems explain the failure.
      const { values, problems: wrong } = parseTextLayer(file, edited ?? text, "home");
      const problems = [...wrong, ...findFoldersInHome(values, home)];
      if (problems.length > 0)
        throw createInvalidConfigError(problems, "Nothing was written, because the result would be invalid:");
      if (edited === undefined) throw createNotEditableError(file, key);
      const result = { file, setting, ...(value !== undefined && { value }) };
      if (edited === text && !(before.state === "read" && before.exposed))
        return { ...result, changed: false };
      for (const left of listDraftFiles(file)) rmSync(left, { force: true }); // left by a killed process
      const draft = writeDraftFile(file, edited);
      // A text editor does not respect the lock.
      if (isSameText(readConfigText(file), before)) {
        commitDraftFile(file, draft);
        return { ...result, changed: edited !== text };
      }
      rmSync(draft, { force: true });
    }
  });
}

function isSameText(one: ConfigFileText, other: ConfigFileText): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Follows a link, so that the edit replaces its target. */
function resolveLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function createNotEditableError(file: string, key: string): PostriderError {
  return new PostriderError(
    "invalid_config",
    `Postrider cannot change ${key} in ${file} without changing other values. Nothing was written. Edit the file yourself.`,
    { details: { path: key, file } },
  );
}

const WAIT_MS = 10_000;

/** Runs one process at a time. The system releases the file lock when its holder ends. */
function withConfigLock<Result>(home: Home, work: () => Result): Result {
  const file = join(home.folder, "config.lock");
  closeSync(openSync(file, "a", 0o600));
  const lock = new Database(file, { timeout: WAIT_MS });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    throw new PostriderError("busy", "Another Postrider process is changing the configuration. Try again.", {
      cause,
    });
  }
  try {
    return work();
  } finally {
    lock.exec("ROLLBACK");
    lock.close();
  }
}
