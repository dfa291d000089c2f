import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { PostriderError } from "../../core/errors.ts";
import type { Home } from "../home.ts";
import type { ConfigProblem } from "./config-problem.ts";

export const PROJECT_FILE = "postrider.yaml";
export const HOME_FILE = "config.yaml";

export function getHomeConfigFile(home: Pick<Home, "folder">): string {
  return join(home.folder, HOME_FILE);
}

export function getProjectConfigFile(cwd: string): string {
  return join(cwd, PROJECT_FILE);
}

export type ConfigFileText =
  | { readonly state: "absent" }
  | {
      readonly state: "read";
      readonly text: string /** Others on this machine may read it. */;
      readonly exposed: boolean;
    }
  | { readonly state: "unreadable"; readonly problem: ConfigProblem };

const MOST_BYTES = 256_000;

/** A file's text. Whatever else stands in its place is a problem, never a wait. */
export function readConfigText(file: string): ConfigFileText {
  const unreadable = (text: string): ConfigFileText => ({
    state: "unreadable",
    problem: { file, line: 1, text },
  });
  let handle: number;
  try {
    // Not blocking: a pipe of that name would keep us waiting for a writer.
    handle = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "absent" };
    return unreadable(`cannot be read (${code})`);
  }
  try {
    const { size, mode } = fstatSync(handle);
    if (!fstatSync(handle).isFile()) return unreadable("is not a file");
    if (size > MOST_BYTES) return unreadable("is larger than a configuration can be");
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(handle));
    return { state: "read", text, exposed: process.platform !== "win32" && (mode & 0o077) !== 0 };
  } catch (error) {
    return unreadable(
      error instanceof TypeError
        ? "is not UTF-8 text"
        : `cannot be read (${(error as NodeJS.ErrnoException).code})`,
    );
  } finally {
    closeSync(handle);
  }
}

/** For a command that was given one by name. */
export function requireConfigFile(file: string, cwd: string): string {
  const path = isAbsolute(file) ? file : join(cwd, file);
  if (readConfigText(path).state !== "absent") return path;
  throw new PostriderError("not_found", `There is no file ${path}.`, { details: { file: path } });
}
