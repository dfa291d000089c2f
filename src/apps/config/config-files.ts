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
      readonly text: string;
      /** Other users of this machine can read the file. */
      readonly exposed: boolean;
    }
  | { readonly state: "unreadable"; readonly problem: ConfigProblem };

const MAX_BYTES = 256_000;

/** Reads a configuration file. It reports anything that is not a regular file as a problem and never blocks. */
export function readConfigText(file: string): ConfigFileText {
  const unreadable = (text: string): ConfigFileText => ({
    state: "unreadable",
    problem: { file, line: 1, text },
  });
  let handle: number;
  try {
    // Non-blocking, because opening a pipe would wait for a writer.
    handle = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { state: "absent" };
    return unreadable(`cannot be read (${code})`);
  }
  try {
    const { size, mode } = fstatSync(handle);
    if (!fstatSync(handle).isFile()) return unreadable("is not a file");
    if (size > MAX_BYTES) return unreadable("is too large for a configuration file");
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

/** Resolves the path of a file argument. */
export function requireConfigFile(file: string, cwd: string): string {
  const path = isAbsolute(file) ? file : join(cwd, file);
  if (readConfigText(path).state !== "absent") return path;
  throw new PostriderError("not_found", `${path} does not exist.`, { details: { file: path } });
}
