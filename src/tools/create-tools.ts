import type { Part } from "../core/message.ts";
import type { ToolName } from "../core/tool-settings.ts";
import type { Tool } from "../ports/tool.ts";
import { createSecretMask } from "../processes/masking.ts";
import { memoryTool } from "./memory-tool.ts";
import { patchTool } from "./patch.ts";
import { processTool } from "./process-tool.ts";
import { readFileTool } from "./read-file.ts";
import { sessionSearchTool } from "./session-search.ts";
import { terminalTool } from "./terminal.ts";
import type { ToolContext } from "./tool-context.ts";
import { writeFileTool } from "./write-file.ts";

const TOOL_CONSTRUCTORS: Readonly<Record<ToolName, (context: ToolContext) => Tool>> = {
  terminal: terminalTool,
  process: processTool,
  read_file: readFileTool,
  write_file: writeFileTool,
  patch: patchTool,
  session_search: sessionSearchTool,
  memory: memoryTool,
};

/** Creates the named tools for one turn. Their output is masked, so that it contains no secret. */
export function createTools(names: readonly ToolName[], context: ToolContext): readonly Tool[] {
  return maskTools(
    [...new Set(names)].map((name) => TOOL_CONSTRUCTORS[name](context)),
    context.secrets,
  );
}

/** The same tools, with every secret replaced in the text of their output. */
export function maskTools(tools: readonly Tool[], secrets: readonly string[]): readonly Tool[] {
  const masked = createSecretMask(secrets);
  return tools.map((tool) => maskToolOutput(tool, masked));
}

function maskToolOutput(tool: Tool, masked: (text: string) => string): Tool {
  return {
    ...tool,
    async run(given, call) {
      const output = await tool.run(given, call);
      return { ...output, parts: output.parts.map((part) => maskPart(part, masked)) };
    },
  };
}

function maskPart(part: Part, masked: (text: string) => string): Part {
  return "text" in part && part.text !== undefined ? { ...part, text: masked(part.text) } : part;
}
