import type { Part, ToolCall } from "../../../core/message.ts";
import { plural } from "../../../core/plural.ts";
import { onOneLine } from "../../../core/printable.ts";
import { cutToWidth } from "../width.ts";

const LONGEST_LINE = 160;
/** What a tool gave back is shown by its first lines; /history and sessions show have the rest. */
const MOST_LINES = 4;
/** Of what a tool is given, the first of these says most. */
const TELLING = ["command", "action", "path", "query", "url", "text"];

/** A call as whoever sits there sees it: the tool, and what it is about to do. */
export function callLine({ name, arguments: given }: Pick<ToolCall, "name" | "arguments">): string {
  return `→ ${lineOf(name)}  ${lineOf(told(given))}`.trimEnd();
}

/** What came of it, in short. */
export function resultLines(parts: readonly Part[]): string {
  const words = parts
    .flatMap((part) => ("text" in part && part.text !== undefined ? [part.text] : []))
    .join("\n")
    .trim();
  if (words === "") return "← (nothing)";
  const lines = words.split("\n");
  const shown = lines.slice(0, MOST_LINES).map(lineOf);
  const more = lines.length - shown.length;
  return [
    `← ${shown.join("\n  ")}`,
    ...(more > 0 ? [`  … ${plural(more, "more line", "more lines")}`] : []),
  ].join("\n");
}

/** The beginning of a text on one line. */
function lineOf(text: string): string {
  const line = cutToWidth(onOneLine(text.slice(0, 4 * LONGEST_LINE)), LONGEST_LINE);
  return text.length > 4 * LONGEST_LINE && !line.endsWith("…") ? `${line}…` : line;
}

function told(given: unknown): string {
  if (typeof given !== "object" || given === null) return given === undefined ? "" : String(given);
  const fields = given as Readonly<Record<string, unknown>>;
  const name = TELLING.find((one) => typeof fields[one] === "string");
  if (name === undefined) return Object.keys(fields).length === 0 ? "" : JSON.stringify(given);
  const rest = name === "action" ? [fields.session_id, fields.data, fields.text] : [];
  return [fields[name], ...rest.filter((one) => typeof one === "string")].join(" ");
}
