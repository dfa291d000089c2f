import type { AccessRole } from "./access.ts";
import type { WatchMode } from "./process.ts";

/** All tools that can be allowed. */
export type ToolName =
  | "terminal"
  | "process"
  | "read_file"
  | "write_file"
  | "patch"
  | "session_search"
  | "memory";

export const TOOL_NAMES: readonly ToolName[] = [
  "terminal",
  "process",
  "read_file",
  "write_file",
  "patch",
  "session_search",
  "memory",
];

/** Tools that access only the person's own messages and memory. */
export const HARMLESS_TOOLS: readonly ToolName[] = ["session_search", "memory"];

/** Which tools agents have, by person and chat. */
export interface ToolSettings {
  /** Tools in turns of the owner. Default all. */
  readonly owner: readonly ToolName[];
  /** Tools in turns of everybody else. Default `HARMLESS_TOOLS`. */
  readonly member: readonly ToolName[];
  /** Restricts the sender's tools in chats with several people, because others read the output and influence the requests. */
  readonly groups: readonly ToolName[];
  /** Restricts the sender's tools on one platform. */
  readonly byPlatform: Readonly<Record<string, readonly ToolName[]>>;
  /** Contains a working folder for each person and group of messengers. Default: next to the home. */
  readonly workspace?: string;
  /** One working folder for everybody in messengers, instead of `workspace`. */
  readonly folder?: string;
  /** Further folders in which files may be read and written. */
  readonly folders: readonly string[];
  /** Names of environment variables that commands get, besides the basic ones. */
  readonly environment: readonly string[];
  /** The time limit of a command that the agent waits for. */
  readonly timeoutSeconds: number;
  /** The default watch mode of background processes. */
  readonly notifications: WatchMode;
}

export const DEFAULT_TOOLS: ToolSettings = {
  owner: TOOL_NAMES,
  member: HARMLESS_TOOLS,
  groups: HARMLESS_TOOLS,
  byPlatform: {},
  folders: [],
  environment: [],
  timeoutSeconds: 180,
  notifications: "all",
};

/** The tools of one turn, by sender and chat. */
export function selectTools(
  settings: ToolSettings,
  {
    role,
    platform,
    chatType,
  }: { readonly role: AccessRole; readonly platform: string; readonly chatType: string },
): readonly ToolName[] {
  const { byPlatform, groups } = settings;
  const here = byPlatform[platform] ?? TOOL_NAMES;
  return settings[role].filter((name) => here.includes(name) && (chatType === "dm" || groups.includes(name)));
}
