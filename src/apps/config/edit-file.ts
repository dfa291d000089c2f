import { closeSync, openSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { PostriderError } from "../../core/errors.ts";
import { type Home, makeHome } from "../home.ts";
import { editText } from "./edit-text.ts";
import { type FileText, homeFile, readText } from "./files.ts";
import { foldersInHome } from "./folders-in-home.ts";
import { isListKind, namesBelow, type Setting, settingAt, type Value } from "./keys.ts";
import { textLayer } from "./layers.ts";
import { unknownKey } from "./nearest-key.ts";
import { invalidConfig } from "./problem.ts";
import { checkValue } from "./schema.ts";
import { draftsOf, replaceFile, writeDurably } from "./write-file.ts";
import { readYaml } from "./yaml-text.ts";

export interface Edited {
  readonly file: string;
  readonly setting: Setting;
  readonly value?: Value;
  /** False when the file said so before. */
  readonly changed: boolean;
}

/** The setting that a person names. */
export function settingNamed(key: string): Setting {
  const path = key.split(".");
  const setting = settingAt(path);
  if (setting !== undefined && setting.key.split(".").length === path.length) return setting;
  const below = setting === undefined ? namesBelow(path) : undefined;
  const names = below?.map((name) => `${key}.${name === "*" ? "NAME" : name}`).join(", ");
  throw invalidConfig([
    { key, text: names === undefined ? unknownKey(path) : `is a section; name one of ${names}` },
  ]);
}

/** Writes one setting into the home's file. What would not be valid is refused, and nothing is written. */
export function setSetting(home: Home, key: string, text: string): Edited {
  const setting = settingNamed(key);
  const isWrittenList = isListKind(setting.kind) && text.trim().startsWith("[");
  const raw = isWrittenList ? (readYaml(`list: ${text}`).root.list ?? text) : text;
  const checked = checkValue(setting, raw);
  if ("text" in checked) throw invalidConfig([{ key, text: checked.text }]);
  return edit(home, key, setting, checked.value);
}

/** Takes it out of the home's file: the project's file or the default counts again. */
export function unsetSetting(home: Home, key: string): Edited {
  return edit(home, key, settingNamed(key), undefined);
}

function edit(home: Home, key: string, setting: Setting, value: Value | undefined): Edited {
  makeHome(home);
  return alone(home, () => {
    for (;;) {
      const file = resolved(homeFile(home));
      const before = readText(file);
      if (before.state === "unreadable") throw invalidConfig([before.problem]);
      const text = before.state === "read" ? before.text : "";
      const edited = editText(text, key.split("."), value);
      // Also when it cannot be edited: what is wrong with it is then the reason.
      const { values, problems: wrong } = textLayer(file, edited ?? text, "home");
      const problems = [...wrong, ...foldersInHome(values, home)];
      if (problems.length > 0)
        throw invalidConfig(problems, "Nothing was written, because it would not be valid:");
      if (edited === undefined) throw notEditable(file, key);
      const result = { file, setting, ...(value !== undefined && { value }) };
      if (edited === text && !(before.state === "read" && before.exposed))
        return { ...result, changed: false };
      for (const left of draftsOf(file)) rmSync(left, { force: true }); // by whoever was killed here
      const draft = writeDurably(file, edited);
      // An editor takes no part in the lock.
      if (same(readText(file), before)) {
        replaceFile(file, draft);
        return { ...result, changed: edited !== text };
      }
      rmSync(draft, { force: true });
    }
  });
}

function same(one: FileText, other: FileText): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A file that is kept elsewhere and linked here stays there. */
function resolved(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function notEditable(file: string, key: string): PostriderError {
  return new PostriderError(
    "invalid_config",
    `${key} cannot be changed in ${file} without changing something else there. Nothing was written; edit it by hand.`,
    { details: { path: key, file } },
  );
}

const WAIT_MS = 10_000;

/** One process at a time. The lock is a lock of the system on a file, so it ends with whoever holds it. */
function alone<Result>(home: Home, work: () => Result): Result {
  const file = join(home.folder, "config.lock");
  closeSync(openSync(file, "a", 0o600));
  const lock = new Database(file, { timeout: WAIT_MS });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    lock.close();
    throw new PostriderError("busy", "Another Postrider is changing the configuration. Try again.", {
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
