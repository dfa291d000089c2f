import type { McpServer } from "@agentclientprotocol/sdk/unstable";
import type { Turn } from "../../core/turn.ts";
import type { Terminal } from "../../ports/terminal.ts";
import type { Tool } from "../../ports/tool.ts";
import type { PreparedTurn } from "../../turns/turn-hooks.ts";
import type { EditorContext } from "./editor-context.ts";
import { disableFolderTools, isFolder } from "./folder.ts";
import { connectMcpServers } from "./mcp-servers.ts";

/** The tools of a thread: the local ones, which work in its folder, and those of the editor's MCP servers. */
export interface ThreadTools {
  /** The system prompt and the tools of a turn. The list of tools changes with the servers while the turn runs. */
  prepare(turn: Turn): Promise<PreparedTurn>;
  /** Sentences about servers that are not connected. Resolves when each server has connected or failed. */
  listProblems(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface ThreadToolsOptions {
  readonly cwd: string;
  readonly mcpServers: readonly McpServer[];
  /** Sentences about entries of servers that cannot be used at all. */
  readonly leftOut?: readonly string[];
  readonly terminal?: Terminal | undefined;
  showNotice(markdown: string): void;
}

export function threadTools(editor: EditorContext, options: ThreadToolsOptions): ThreadTools {
  const { cwd, terminal, leftOut } = options;
  const workspace = { cwd, ...(terminal !== undefined && { terminal }) };
  /** The list that the running turn reads: local tools first, then those of the servers. */
  let turnTools: Tool[] = [];
  let localCount = 0;

  const mcp = connectMcpServers(options.mcpServers, {
    cwd,
    environment: editor.environment,
    log: editor.log,
    ...(leftOut !== undefined && { leftOut }),
    notify: (sentence) => options.showNotice(`_${sentence}_\n\n`),
    onToolsChanged: () => void turnTools.splice(localCount, turnTools.length, ...mcp.currentTools()),
  });

  return {
    async prepare(turn) {
      const hasFolder = isFolder(cwd);
      const [prepared, serverTools] = await Promise.all([
        editor.localTools.prepare(turn, { ...workspace, folder: hasFolder ? "opened" : "missing" }),
        mcp.tools(),
      ]);
      const localTools = prepared.tools ?? [];
      turnTools = [...(hasFolder ? localTools : disableFolderTools(localTools, cwd)), ...serverTools];
      localCount = localTools.length;
      return { ...prepared, ...workspace, tools: turnTools };
    },
    async listProblems() {
      await mcp.tools();
      return mcp.problems;
    },
    close: () => mcp.close(),
  };
}
