import { statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { toFailedOutput } from "../../agents/call-tool.ts";
import { PostriderError } from "../../core/errors.ts";
import type { Tool } from "../../ports/tool.ts";

/** The path of a request, which the protocol wants absolute. */
export function requireAbsoluteFolder(cwd: string): string {
  if (isAbsolutePath(cwd)) return cwd;
  throw new PostriderError("invalid_input", "cwd must be an absolute path.", { details: { field: "cwd" } });
}

/** The same for a thread that is new: there must be such a folder. */
export function requireExistingFolder(cwd: string): string {
  const folder = requireAbsoluteFolder(cwd);
  if (isFolder(folder)) return folder;
  const sentence = `There is no folder ${folder}. Open a folder that exists.`;
  throw new PostriderError("invalid_input", sentence, { details: { field: "cwd" } });
}

/** The folder of a stored session. Sessions of messengers have none, and a library may have stored anything. */
export function getSessionFolder({ cwd }: { readonly cwd?: string | undefined }): string {
  return [cwd, homedir()].find((path) => path !== undefined && isAbsolutePath(path)) ?? "/";
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** What a thread says whose folder is gone. */
export function formatMissingFolder(cwd: string): string {
  return `The folder ${cwd} does not exist, so nothing can be read, changed or run in it. What was said is all here.`;
}

/** Tools that work in the folder; the others go on without it. */
const FOLDER_TOOLS: ReadonlySet<string> = new Set([
  "terminal",
  "process",
  "read_file",
  "write_file",
  "patch",
]);

/** The same tools, but those that need the folder say that it is gone. */
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
