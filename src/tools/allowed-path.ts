import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { ToolContext } from "./tool-context.ts";

/** What of the hands decides which files they reach. */
export type FileAccess = Pick<ToolContext, "cwd" | "allowedFolders" | "deniedFolders">;

export interface AllowedPath {
  /** Free of links when it was looked at. What is there, or what is to be there. */
  readonly realPath: string;
}

/** They hold the machine and the secrets of processes, not files. */
const SYSTEM_FOLDERS: readonly string[] = ["/proc", "/sys", "/dev"];

/** Longer than any system takes. */
const LONGEST_PATH = 4096;

/**
 * The real path of what a model names, if it lies in an allowed folder and in no forbidden one. What is not there yet is
 * judged by where it would come to be.
 *
 * Two things remain. What changes after this look is caught when the file is opened (`held-folder.ts`). And a hard link
 * looks like any file: whoever could make one here had the other file's rights already.
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

/** As it is told to people and models: from the folder where relative paths begin, if it lies there. */
export function toDisplayPath(real: string, { cwd }: Pick<FileAccess, "cwd">): string {
  const from = relative(cwd, real);
  return from !== "" && isBelow(from) ? from : real;
}

function checkPath(given: string, { cwd }: FileAccess): string {
  const wrong =
    given.trim() === ""
      ? "is missing: name a file"
      : given.includes("\0")
        ? "must not hold a NUL"
        : !given.isWellFormed() || given.length > LONGEST_PATH
          ? "is no name that a file can have"
          : given.startsWith("~")
            ? `must not begin with ~: write it in full, or from ${cwd}`
            : undefined;
  if (wrong === undefined) return given;
  throw new PostriderError("invalid_input", `The path ${wrong}.`, { details: { field: "path" } });
}

/** Links followed as far as there is something; what is not there follows as it was written. */
async function resolveReal(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // Whatever the reason, nothing is known of it but where it would be: opening it will tell the rest.
    const above = dirname(path);
    return above === path ? path : join(await resolveReal(above), basename(path));
  }
}

/** How long the innermost of these folders is that holds the path; 0 if none does. */
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

/** A link that leads nowhere may lead somewhere else a moment later. */
async function denyDanglingLink(given: string, real: string): Promise<void> {
  const found = await lstat(real).catch(() => undefined);
  if (found?.isSymbolicLink())
    throw new PostriderError("not_allowed", `"${shortenPath(given)}" is a link that leads nowhere.`);
}

function createOutsideError(given: string, { allowedFolders }: FileAccess): PostriderError {
  const where =
    allowedFolders.length === 0 ? "None may be touched." : `These may be: ${allowedFolders.join(", ")}.`;
  return new PostriderError(
    "not_allowed",
    `"${shortenPath(given)}" is not in a folder that may be touched. ${where}`,
  );
}

function shortenPath(given: string): string {
  return given.length <= 200 ? given : `${given.slice(0, 200)}…`;
}
