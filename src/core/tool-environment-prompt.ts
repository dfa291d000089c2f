import { escapePath } from "./printable.ts";
import type { ToolName } from "./tool-settings.ts";

/** The machine on which tools run. */
export interface MachineInfo {
  /** The name of the operating system, such as `Linux (Debian GNU/Linux 12)`. */
  readonly system: string;

  readonly shell: string;
}

/** `opened`: the person chose the working folder, as in an editor. `missing`: they did, and it does not exist. */
export type FolderState = "opened" | "missing";

export interface ToolEnvironment {
  readonly tools: readonly ToolName[];
  readonly machine: MachineInfo;
  readonly folder: string;
  readonly state?: FolderState | undefined;
}

/** Describes the machine and folder of the tools to the model. Without file or command tools it omits the machine. */
export function buildToolEnvironmentPrompt({
  tools,
  machine,
  folder,
  state,
}: ToolEnvironment): string | undefined {
  const path = escapePath(folder);
  if (state === "missing")
    return `The working folder ${path} does not exist: no file in it can be read or written, and no command can run there.`;
  if (tools.includes("terminal"))
    return `Commands run on ${machine.system} with ${machine.shell} in the folder ${path}.`;
  if (FILE_TOOLS.some((name) => tools.includes(name)))
    return `You work with files on ${machine.system} in the folder ${path}.`;
  return state === "opened" ? `The working folder is ${path}.` : undefined;
}

const FILE_TOOLS: readonly ToolName[] = ["read_file", "write_file", "patch"];
