import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { PostriderError } from "../core/errors.ts";
import type { MemoryOwner } from "../core/memory.ts";
import type { ToolSettings } from "../core/tool-settings.ts";
import type { Home } from "./home.ts";

type WorkspaceSettings = Pick<ToolSettings, "workspace">;

/** The folder that holds the workspaces of all people and groups. It lies outside of the home. */
export function resolveWorkspaces(
  { workspaces }: Pick<Home, "workspaces">,
  tools: WorkspaceSettings | undefined,
): string {
  return tools?.workspace ?? workspaces;
}

/** The workspace of one person or group. It exists afterwards, and only the user of this machine may look inside. */
export function makeWorkspace(workspaces: string, owner: MemoryOwner): string {
  const folder = join(workspaces, toFolderName(owner));
  makePrivateFolder(folder);
  return folder;
}

/** Also those above it that are not there yet. */
export function makePrivateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new PostriderError(
      "invalid_config",
      `The folder ${folder}, in which agents work, cannot be made (${(cause as NodeJS.ErrnoException).code}). Set tools.workspace to a folder outside of the home in which Postrider may write.`,
      { cause, details: { path: "tools.workspace" } },
    );
  }
}

/** No two owners have the same, and any file system takes it. */
function toFolderName(owner: MemoryOwner): string {
  const plain = owner.replaceAll(/[^A-Za-z0-9_-]+/g, "-").slice(0, 60);
  if (plain === owner && plain !== "") return plain;
  return `${plain}-${createHash("sha256").update(owner).digest("hex").slice(0, 12)}`;
}

/** The folder in the home in which agents of earlier versions worked, if something is in it. */
export function findFormerWorkspaces({ folder }: Pick<Home, "folder">): string | undefined {
  const former = join(folder, "workspace");
  return hasEntries(former) ? former : undefined;
}

export type WorkspaceMove =
  | { readonly state: "none" }
  | { readonly state: "moved"; readonly from: string }
  /** Nothing was changed: `why` says what is in the way. */
  | { readonly state: "left"; readonly from: string; readonly why: string };

/** Moves what earlier versions kept in the home, in one step or not at all. */
export function moveFormerWorkspaces(home: Pick<Home, "folder">, workspaces: string): WorkspaceMove {
  const from = findFormerWorkspaces(home);
  if (from === undefined) return { state: "none" };
  const left = (why: string): WorkspaceMove => ({ state: "left", from, why });
  // A link may be relative, and would lead elsewhere from there.
  if (lstatSync(from).isSymbolicLink()) return left("it is a link");
  if (hasEntries(workspaces)) return left(`there are files in ${workspaces} already`);
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

/** The commands that move the old folder by hand. They overwrite no file. */
export function formatManualMove(from: string, workspaces: string): string {
  return `Copy what you want to keep, for instance with cp -Rn '${from}/.' '${workspaces}/', and remove ${from}.`;
}

function hasEntries(folder: string): boolean {
  try {
    return statSync(folder).isDirectory() && readdirSync(folder).length > 0;
  } catch {
    return false; // there is none
  }
}
