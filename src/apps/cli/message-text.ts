import type { Message, Part, ToolCall } from "../../core/message.ts";
import { onOneLine, printable } from "../../core/printable.ts";
import { dateAndTime } from "./relative-time.ts";
import { sizeText } from "./size-text.ts";
import type { Style } from "./style.ts";
import { cutToWidth } from "./width.ts";

/** A tool may print a whole log; its beginning tells people which one it was. */
const SHORT = 200;

const WHO: Readonly<Record<Message["role"], string>> = {
  user: "user",
  assistant: "assistant",
  tool: "tool",
  note: "note",
};

export interface Shown {
  /** The session that shows it: what comes from another one says so. */
  readonly session: string;
  /** It belongs to whoever reads this. */
  readonly isOwn: boolean;
  /** It was taken back, or replaced by a summary. */
  readonly notShown?: boolean;
  readonly marked?: boolean;
}

/** A message as people read it: who, when, and what was said; tools in short, pictures and files by name. */
export function messageLines(message: Message, shown: Shown, style: Style): string[] {
  const { seq, at, role, origin } = message;
  // The end of a process, told to the agent: nobody said it.
  const human = origin?.proactive ? "Postrider" : (origin?.userName ?? (shown.isOwn ? "you" : WHO.user));
  const who = role === "user" ? onOneLine(human) : WHO[role];
  const remarks = [
    message.toolName === undefined ? undefined : onOneLine(message.toolName),
    message.session === shown.session ? undefined : `said in ${message.session}`,
    origin?.interrupted ? "interrupted" : undefined,
    origin?.proactive ? "unasked" : undefined,
    shown.notShown ? "not shown" : undefined,
  ].filter((remark) => remark !== undefined);
  const place = `${shown.marked ? "▶ " : ""}#${seq}`;
  const head = `${style.bold(`${place} ${who}`)} ${style.dim([dateAndTime(at), ...remarks].join(" · "))}`;
  return [head, ...bodyLines(message), ""];
}

export function bodyLines(message: Message): string[] {
  const isTool = message.role === "tool";
  return [
    ...message.parts.flatMap((part) => partLines(part, isTool)),
    ...(message.toolCalls ?? []).map(callLine),
  ];
}

function partLines(part: Part, isTool: boolean): string[] {
  if (part.type === "text") return isTool ? [`← ${inShort(part.text)}`] : printable(part.text).split("\n");
  if (part.type === "resource") return [`[resource: ${onOneLine(part.uri)}]`];
  return [`[${part.type}: ${onOneLine(part.name ?? part.mimeType)}, ${sizeText(part.size)}]`];
}

function callLine({ name, arguments: given }: ToolCall): string {
  const shown = given === undefined ? "" : typeof given === "string" ? given : JSON.stringify(given);
  return `→ ${onOneLine(name)} ${inShort(shown)}`.trimEnd();
}

function inShort(text: string): string {
  const line = cutToWidth(onOneLine(text.slice(0, 4 * SHORT)), SHORT);
  return text.length > 4 * SHORT && !line.endsWith("…") ? `${line}…` : line;
}
