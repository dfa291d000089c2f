import type { AccessRole } from "./access.ts";
import type { WatchMode } from "./process.ts";

/** What an agent may be given to work with. */
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

/** These touch nothing but what the person has said and is remembered of them. */
export const HARMLESS_TOOLS: readonly ToolName[] = ["session_search", "memory"];

/** What agents may do, for whom and where. */
export interface ToolSettings {
  /** In what the owner of the home asks for. Default all. */
  readonly owner: readonly ToolName[];
  /** In what anyone else asks for. Default the harmless ones. */
  readonly member: readonly ToolName[];
  /** In chats with several people, of those that the speaker has: others read along, and may have led them to ask. */
  readonly groups: readonly ToolName[];
  /** On one platform, of those that the speaker has. */
  readonly byPlatform: Readonly<Record<string, readonly ToolName[]>>;
  /** Holds a folder for each person and group, where commands run in messengers; beside the home, unless said. */
  readonly workspace?: string;
  /** Where commands run in messengers instead: one folder for everyone. */
  readonly folder?: string;
  /** Further folders in which files may be read and written. */
  readonly folders: readonly string[];
  /** Names of variables that programs see, besides the few that every program needs. */
  readonly environment: readonly string[];
  /** How long a command may take that the agent waits for. */
  readonly timeoutSeconds: number;
  /** How much of background processes a chat is told, where the agent does not say. */
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

/** The tools for one turn, by who asks and where. */
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
