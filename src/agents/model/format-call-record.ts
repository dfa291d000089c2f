import type { Message, ToolCall } from "../../core/message.ts";
import { NO_RESULT } from "../../core/projection.ts";
import { formatMessageText } from "./part-text.ts";

/**
 * Tells a call and its result in words, for a request that does not offer the tool: providers refuse such calls in their own
 * form. Every line is quoted, so that nothing in it can pass for what the model or the person said.
 */
export function formatCallRecord({ name, arguments: given }: ToolCall, result: Message | undefined): string {
  const outcome = result?.finishReason === "error" ? "It failed:" : "It returned:";
  const quoted = [
    `${name} ${JSON.stringify(given) ?? ""}`.trimEnd(),
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
