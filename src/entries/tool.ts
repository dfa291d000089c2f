export type { ApprovalRequest } from "../core/approval.ts";
export type { Part } from "../core/message.ts";
export type { Blob } from "../core/turn.ts";
export type { Tool, ToolAudience, ToolEffect, ToolOutput } from "../ports/tool.ts";
export {
  defineTool,
  type JsonSchema,
  type SchemaResult,
  type ToolDefinition,
  type ToolInput,
  type ToolSchema,
} from "../tools/define-tool.ts";
