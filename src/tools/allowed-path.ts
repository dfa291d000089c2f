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
export async function resolveAllowedPath(named: string, access: FileAccess): Promise<AllowedPath> {
  const path = resolve(access.cwd, checkPath(named, access));
  const realPath = await resolveReal(path);
  const [allowed, denied, machine] = await Promise.all([
    measureInnermost(access.allowedFolders, realPath),
    measureInnermost(access.deniedFolders, realPath),
    measureInnermost(SYSTEM_FOLDERS, realPath),
  ]);
  if (denied > 0 || allowed <= machine) throw createOutsideError(named, access);
  await denyDanglingLink(named, realPath);
  return { realPath };
}

/** The path for messages: relative to the working directory, if it is inside. */
export function toDisplayPath(realPath: string, { cwd }: Pick<FileAccess, "cwd">): string {
  const from = relative(cwd, realPath);
  return from !== "" && isBelow(from) ? from : realPath;
}

function checkPath(named: string, { cwd }: FileAccess): string {
  const wrong =
    named.trim() === ""
      ? "is empty: name a file"
      : named.includes("\0")
        ? "must not contain a NUL character"
        : !named.isWellFormed() || named.length > MAX_PATH_LENGTH
          ? "is not a valid file name"
          : named.startsWith("~")
            ? `must not start with ~: use an absolute path, or one relative to ${cwd}`
            : undefined;
  if (wrong === undefined) return named;
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
async function measureInnermost(folders: readonly string[], realPath: string): Promise<number> {
  const lengths = await Promise.all(
    folders.map(async (folder) => {
      const container = await resolveReal(resolve(folder));
      return isBelow(relative(container, realPath)) ? container.length : 0;
    }),
  );
  return Math.max(0, ...lengths);
}

function isBelow(from: string): boolean {
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}

/** Denies a dangling link, because its target may appear later. */
async function denyDanglingLink(named: string, realPath: string): Promise<void> {
  const found = await lstat(realPath).catch(() => undefined);
  if (found?.isSymbolicLink())
    throw new PostriderError("not_allowed", `"${shortenPath(named)}" is a link without a target.`);
}

function createOutsideError(named: string, { allowedFolders }: FileAccess): PostriderError {
  const where =
    allowedFolders.length === 0 ? "No folder is allowed." : `Allowed: ${allowedFolders.join(", ")}.`;
  return new PostriderError("not_allowed", `"${shortenPath(named)}" is not in an allowed folder. ${where}`);
}

function shortenPath(named: string): string {
  return named.length <= 200 ? named : `${named.slice(0, 200)}…`;
}
