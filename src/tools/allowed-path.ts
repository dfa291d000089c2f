import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { ToolContext } from "./tool-context.ts";

/** The part of the tool context that limits file access. */
export type FileAccess = Pick<ToolContext, "cwd" | "allowedFolders" | "deniedFolders">;

export interface AllowedPath {
  /** The path without links at the time of the check. It may not exist yet. */
  readonly realPath: string;
}

/** They expose the machine and the secrets of processes. */
const SYSTEM_FOLDERS: readonly string[] = ["/proc", "/sys", "/dev"];

/** The longest path that systems accept. */
const MAX_PATH_LENGTH = 4096;

/**
 * Resolves a model's path to its real path, if it is in an allowed folder and in no denied one. A later change of the path
 * is detected at the open (`pinned-directory.ts`). A hard link passes: its creator had access to the file already.
 */
export async function resolveAllowedPath(given: string, reach: FileAccess): Promise<AllowedPath> {
  const path = resolve(reach.cwd, checkPath(given, reach));
  const real = await resolveReal(path);
  const [allowed, forbidden, machine] = await Promise.all([
    measureInnermost(reach.allowedFolders, real),
    measureInnermost(reach.deniedFolders, real),
    measureInnermost(SYSTEM_FOLDERS, real),
  ]);
  if (forbidden > 0 || allowed <= machine) throw createOutsideError(given, reach);
  await denyDanglingLink(given, real);
  return { realPath: real };
}

/** The path for messages: relative to the working directory, if it is inside. */
export function toDisplayPath(real: string, { cwd }: Pick<FileAccess, "cwd">): string {
  const from = relative(cwd, real);
  return from !== "" && isBelow(from) ? from : real;
}

function checkPath(given: string, { cwd }: FileAccess): string {
  const wrong =
    given.trim() === ""
      ? "is empty: name a file"
      : given.includes("\0")
        ? "must not contain a NUL character"
        : !given.isWellFormed() || given.length > MAX_PATH_LENGTH
          ? "is not a valid file name"
          : given.startsWith("~")
            ? `must not start with ~: use an absolute path, or one relative to ${cwd}`
            : undefined;
  if (wrong === undefined) return given;
  throw new PostriderError("invalid_input", `The path ${wrong}.`, { details: { field: "path" } });
}

/** Follows links as far as the path exists, and appends the rest. */
async function resolveReal(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // For any error the path counts as missing; opening it reports the reason.
    const above = dirname(path);
    return above === path ? path : join(await resolveReal(above), basename(path));
  }
}

/** The length of the innermost of these folders that contains the path; 0 if none does. */
async function measureInnermost(folders: readonly string[], real: string): Promise<number> {
  const lengths = await Promise.all(
    folders.map(async (folder) => {
      const around = await resolveReal(resolve(folder));
      return isBelow(relative(around, real)) ? around.length : 0;
    }),
  );
  return Math.max(0, ...lengths);
}

function isBelow(from: string): boolean {
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}

/** Denies a dangling link, because its target may appear later. */
async function denyDanglingLink(given: string, real: string): Promise<void> {
  const found = await lstat(real).catch(() => undefined);
  if (found?.isSymbolicLink())
    throw new PostriderError("not_allowed", `"${shortenPath(given)}" is a link without a target.`);
}

function createOutsideError(given: string, { allowedFolders }: FileAccess): PostriderError {
  const where =
    allowedFolders.length === 0 ? "No folder is allowed." : `Allowed: ${allowedFolders.join(", ")}.`;
  return new PostriderError("not_allowed", `"${shortenPath(given)}" is not in an allowed folder. ${where}`);
}

function shortenPath(given: string): string {
  return given.length <= 200 ? given : `${given.slice(0, 200)}…`;
}
