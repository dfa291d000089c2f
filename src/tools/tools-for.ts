import type { Part } from "../core/message.ts";
import type { ToolName } from "../core/tool-settings.ts";
import type { Tool } from "../ports/tool.ts";
import { maskedBy } from "../processes/masking.ts";
import type { Hands } from "./hands.ts";
import { memoryTool } from "./memory-tool.ts";
import { patchTool } from "./patch.ts";
import { processTool } from "./process-tool.ts";
import { readFileTool } from "./read-file.ts";
import { sessionSearchTool } from "./session-search.ts";
import { terminalTool } from "./terminal.ts";
import { writeFileTool } from "./write-file.ts";

const MADE: Readonly<Record<ToolName, (hands: Hands) => Tool>> = {
  terminal: terminalTool,
  process: processTool,
  read_file: readFileTool,
  write_file: writeFileTool,
  patch: patchTool,
  session_search: sessionSearchTool,
  memory: memoryTool,
};

/** The tools of these names for one turn. No secret gets out of any of them. */
export function toolsFor(names: readonly ToolName[], hands: Hands): readonly Tool[] {
  const masked = maskedBy(hands.secrets);
  return [...new Set(names)].map((name) => withoutSecrets(MADE[name](hands), masked));
}

function withoutSecrets(tool: Tool, masked: (text: string) => string): Tool {
  return {
    ...tool,
    async run(given, call) {
      const output = await tool.run(given, call);
      return { ...output, parts: output.parts.map((part) => maskedPart(part, masked)) };
    },
  };
}

function maskedPart(part: Part, masked: (text: string) => string): Part {
  return "text" in part && part.text !== undefined ? { ...part, text: masked(part.text) } : part;
}
