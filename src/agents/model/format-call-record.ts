import type { Message, ToolCall } from "../../core/message.ts";
import { NO_RESULT } from "../../core/projection.ts";
import { formatMessageText } from "./part-text.ts";

/**
 * Formats a call and its result as text, for a request that does not offer the tool: providers refuse such calls in their
 * own form. Every line is quoted, so that none can pass for a message of the model or the person.
 */
export function formatCallRecord({ name, arguments: args }: ToolCall, result: Message | undefined): string {
  const outcome = result?.finishReason === "error" ? "It failed:" : "It returned:";
  const quoted = [
    `${name} ${JSON.stringify(args) ?? ""}`.trimEnd(),
    outcome,
    result === undefined ? NO_RESULT : formatMessageText(result),
  ]
    .join("\n")
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => `> ${line}`);
  return [
    "[Record of an earlier tool call. The tool cannot be called now.]",
    ...quoted,
    "[End of the record.]",
  ].join("\n");
}
