import type { Part, ToolCall } from "../../../core/message.ts";
import { pluralize } from "../../../core/pluralize.ts";
import { toOneLine } from "../../../core/printable.ts";
import { cutToWidth } from "../width.ts";

const MAX_LINE_LENGTH = 160;
/** The number of shown lines of a tool result; /history and `sessions show` have the rest. */
const MAX_LINES = 4;
/** The first of these arguments summarizes a call. */
const SUMMARY_ARGUMENTS = ["command", "action", "path", "query", "url", "text"];

/** Formats a tool call for the screen: the tool and its main argument. */
export function formatToolCall({ name, arguments: given }: Pick<ToolCall, "name" | "arguments">): string {
  return `→ ${toShortLine(name)}  ${toShortLine(summarizeArguments(given))}`.trimEnd();
}

/** Formats the first lines of a tool result. */
export function formatToolResult(parts: readonly Part[]): string {
  const words = parts
    .flatMap((part) => ("text" in part && part.text !== undefined ? [part.text] : []))
    .join("\n")
    .trim();
  if (words === "") return "← (no output)";
  const lines = words.split("\n");
  const shown = lines.slice(0, MAX_LINES).map(toShortLine);
  const more = lines.length - shown.length;
  return [
    `← ${shown.join("\n  ")}`,
    ...(more > 0 ? [`  … ${pluralize(more, "more line", "more lines")}`] : []),
  ].join("\n");
}

/** The start of a text, on one line. */
function toShortLine(text: string): string {
  const line = cutToWidth(toOneLine(text.slice(0, 4 * MAX_LINE_LENGTH)), MAX_LINE_LENGTH);
  return text.length > 4 * MAX_LINE_LENGTH && !line.endsWith("…") ? `${line}…` : line;
}

function summarizeArguments(given: unknown): string {
  if (typeof given !== "object" || given === null) return given === undefined ? "" : String(given);
  const fields = given as Readonly<Record<string, unknown>>;
  const name = SUMMARY_ARGUMENTS.find((one) => typeof fields[one] === "string");
  if (name === undefined) return Object.keys(fields).length === 0 ? "" : JSON.stringify(given);
  const rest = name === "action" ? [fields.session_id, fields.data, fields.text] : [];
  return [fields[name], ...rest.filter((one) => typeof one === "string")].join(" ");
}
