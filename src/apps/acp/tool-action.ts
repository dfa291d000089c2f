import type { ToolKind } from "@agentclientprotocol/sdk/unstable";

/** The operation of a tool, derived from its name. */
export type ToolOperation =
  | "run"
  | "process"
  | "read"
  | "list"
  | "write"
  | "edit"
  | "delete"
  | "move"
  | "search"
  | "search_web"
  | "fetch"
  | "delegate"
  | "think"
  | "other";

export interface ToolAction {
  readonly operation: ToolOperation;
  readonly kind: ToolKind;
  /** The name of the tool without the server. */
  readonly tool: string;
  readonly server?: string;
}

/** Uses common tool names. Tools of MCP servers are called `<server>__<tool>`. */
export function classifyTool(name: string, args: Readonly<Record<string, unknown>>): ToolAction {
  const split = name.lastIndexOf("__");
  const tool = split > 0 && split + 2 < name.length ? name.slice(split + 2) : name;
  const server = tool === name ? undefined : name.slice(0, split).replace(/^mcp__/, "");
  const operation = refineByCommand(findOperation(toSnakeCase(tool)), args.command);
  return { operation, kind: KINDS[operation], tool, ...(server && { server }) };
}

const KINDS: Readonly<Record<ToolOperation, ToolKind>> = {
  run: "execute",
  process: "execute",
  read: "read",
  list: "read",
  write: "edit",
  edit: "edit",
  delete: "delete",
  move: "move",
  search: "search",
  search_web: "fetch",
  fetch: "fetch",
  delegate: "think",
  think: "think",
  other: "other",
};

const NAMES: Readonly<Record<Exclude<ToolOperation, "other">, string>> = {
  run: "terminal shell bash sh execute exec run execute_command exec_command run_command run_shell_command run_terminal_cmd run_in_terminal local_shell execute_code run_code python",
  process: "process bash_output kill_shell kill_bash write_stdin",
  read: "read_file read view view_file cat open_file read_text_file read_many_files read_multiple_files read_resource view_image notebook_read",
  list: "list_directory list_dir list_files list_folder ls directory_tree",
  write: "write_file write create_file create write_text_file save_file",
  edit: "patch edit edit_file str_replace str_replace_editor str_replace_based_edit_tool replace replace_in_file multi_edit apply_patch apply_diff insert insert_text notebook_edit",
  delete: "delete_file delete remove_file remove rm unlink",
  move: "move_file move rename_file rename mv",
  search:
    "search search_files search_code search_file_content search_text grep ripgrep glob find find_files file_search codebase_search session_search search_sessions tool_search",
  search_web: "web_search search_web google_web_search",
  fetch: "web_fetch fetch fetch_url web_extract web_crawl read_url download http_request browser_navigate",
  delegate: "delegate delegate_task task",
  think: "think plan todo todo_read todo_write update_plan sequentialthinking sequential_thinking",
};

const OPERATIONS: ReadonlyMap<string, ToolOperation> = new Map(
  Object.entries(NAMES).flatMap(([operation, names]) =>
    names.split(" ").map((name) => [name, operation as ToolOperation]),
  ),
);

function findOperation(name: string): ToolOperation {
  return OPERATIONS.get(name) ?? "other";
}

/** Some file editors are one tool with a command argument. */
function refineByCommand(operation: ToolOperation, command: unknown): ToolOperation {
  if (operation !== "edit") return operation;
  return command === "view" ? "read" : command === "create" ? "write" : operation;
}

function toSnakeCase(name: string): string {
  return name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_")
    .replaceAll("-", "_")
    .toLowerCase();
}
