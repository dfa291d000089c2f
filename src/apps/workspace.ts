import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { MemoryOwner } from "../core/memory.ts";
import type { ToolSettings } from "../core/tool-settings.ts";
import type { Home } from "./home.ts";

type WorkspaceSettings = Pick<ToolSettings, "workspace">;

/** The folder of all workspaces. It is outside the home. */
export function resolveWorkspaces(
  { workspaces }: Pick<Home, "workspaces">,
  tools: WorkspaceSettings | undefined,
): string {
  return tools?.workspace ?? workspaces;
}

/** Creates the private workspace of a person or group. */
export function makeWorkspace(workspaces: string, owner: MemoryOwner): string {
  const folder = join(workspaces, toFolderName(owner));
  makePrivateFolder(folder);
  return folder;
}

/** Creates missing parent folders too. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new PostriderError(
      "invalid_config",
      `Cannot create the workspace folder ${folder} (${(cause as NodeJS.ErrnoException).code}). Set tools.workspace to a writable folder outside the home.`,
      { cause, details: { path: "tools.workspace" } },
    );
  }
}

/** A folder name that is unique per owner and valid on any file system. */
function toFolderName(owner: MemoryOwner): string {
  const plain = owner.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(0, 60);
  if (plain === owner && plain !== "") return plain;
  return `${plain}-${createHash("sha256").update(owner).digest("hex").slice(0, 12)}`;
}

/** The workspaces of earlier versions inside the home, if they contain files. */
export function findFormerWorkspaces({ folder }: Pick<Home, "folder">): string | undefined {
  const former = join(folder, "workspace");
  return hasEntries(former) ? former : undefined;
}

export type WorkspaceMove =
  | { readonly state: "none" }
  | { readonly state: "moved"; readonly from: string }
  /** Nothing changed; `why` names the obstacle. */
  | { readonly state: "left"; readonly from: string; readonly why: string };

/** Moves the workspaces of earlier versions, in one step or not at all. */
export function moveFormerWorkspaces(home: Pick<Home, "folder">, workspaces: string): WorkspaceMove {
  const from = findFormerWorkspaces(home);
  if (from === undefined) return { state: "none" };
  const left = (why: string): WorkspaceMove => ({ state: "left", from, why });
  // A relative link would have another target after the move.
  if (lstatSync(from).isSymbolicLink()) return left("it is a link");
  if (hasEntries(workspaces)) return left(`${workspaces} already contains files`);
  try {
    mkdirSync(dirname(workspaces), { recursive: true, mode: 0o700 });
    renameSync(from, workspaces);
    return { state: "moved", from };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return left(
      code === "EXDEV" ? `${workspaces} is on another file system` : `it cannot be moved (${code})`,
    );
  }
}

/** Describes how to move the folder with commands that overwrite no file. */
export function formatManualMove(from: string, workspaces: string): string {
  return `Copy the files that you want to keep, for example with cp -Rn '${from}/.' '${workspaces}/', and remove ${from}.`;
}

function hasEntries(folder: string): boolean {
  try {
    return statSync(folder).isDirectory() && readdirSync(folder).length > 0;
  } catch {
    return false; // the folder does not exist
  }
}
