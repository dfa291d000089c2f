import { statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { toFailedOutput } from "../../agents/call-tool.ts";
import { PostriderError } from "../../core/errors.ts";
import type { Tool } from "../../ports/tool.ts";

/** The folder of a request. The protocol requires an absolute path. */
export function requireAbsoluteFolder(cwd: string): string {
  if (isAbsolutePath(cwd)) return cwd;
  throw new PostriderError("invalid_input", "cwd must be an absolute path.", { details: { field: "cwd" } });
}

/** The folder of a new thread, which must exist. */
export function requireExistingFolder(cwd: string): string {
  const folder = requireAbsoluteFolder(cwd);
  if (isFolder(folder)) return folder;
  const sentence = `There is no folder ${folder}. Open a folder that exists.`;
  throw new PostriderError("invalid_input", sentence, { details: { field: "cwd" } });
}

/** The folder of a stored session. Sessions of messengers have none, and library users may store any text. */
export function getSessionFolder({ cwd }: { readonly cwd?: string | undefined }): string {
  return [cwd, homedir()].find((path) => path !== undefined && isAbsolutePath(path)) ?? "/";
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

export function formatMissingFolder(cwd: string): string {
  return `The folder ${cwd} does not exist, so nothing can be read, changed or run in it. All messages are here.`;
}

/** Tools that need the folder. */
const FOLDER_TOOLS: ReadonlySet<string> = new Set([
  "terminal",
  "process",
  "read_file",
  "write_file",
  "patch",
]);

/** Replaces the tools that need the folder by tools that fail with the reason. */
export function disableFolderTools(tools: readonly Tool[], cwd: string): readonly Tool[] {
  return tools.map(({ buildApprovalRequest, ...tool }) =>
    FOLDER_TOOLS.has(tool.name)
      ? {
          ...tool,
          effect: "none",
          getEffect: () => "none",
          run: async () => toFailedOutput(formatMissingFolder(cwd)),
        }
      : { ...tool, ...(buildApprovalRequest !== undefined && { buildApprovalRequest }) },
  );
}

function isAbsolutePath(path: string): boolean {
  return isAbsolute(path) && !/\p{Cc}/u.test(path);
}
