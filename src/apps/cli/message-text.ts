import type { Message, Part, ToolCall } from "../../core/message.ts";
import { toOneLine, toPrintable } from "../../core/printable.ts";
import { formatSize } from "./format-size.ts";
import { formatDateTime } from "./format-time.ts";
import type { Style } from "./style.ts";
import { cutToWidth } from "./width.ts";

/** A tool result may be a whole log; its start is enough to recognize it. */
const MAX_SHORT_LENGTH = 200;

const ROLE_NAMES: Readonly<Record<Message["role"], string>> = {
  user: "user",
  assistant: "assistant",
  tool: "tool",
  note: "note",
};

export interface MessageDisplay {
  /** The session that shows the message. Messages of another session are marked. */
  readonly session: string;
  /** The session belongs to the reader. */
  readonly isOwn: boolean;
  /** The message was undone, or replaced by a summary. */
  readonly notShown?: boolean;
  readonly marked?: boolean;
}

/** Formats a message: sender, time and text; tool calls in short, images and files by name. */
export function formatMessageLines(message: Message, shown: MessageDisplay, style: Style): string[] {
  const { seq, at, role, origin } = message;
  // A notice to the agent about the end of a process.
  const human = origin?.proactive
    ? "Postrider"
    : (origin?.userName ?? (shown.isOwn ? "you" : ROLE_NAMES.user));
  const who = role === "user" ? toOneLine(human) : ROLE_NAMES[role];
  const remarks = [
    message.toolName === undefined ? undefined : toOneLine(message.toolName),
    message.session === shown.session ? undefined : `from session ${message.session}`,
    origin?.interrupted ? "interrupted" : undefined,
    origin?.proactive ? "unasked" : undefined,
    shown.notShown ? "not shown" : undefined,
  ].filter((remark) => remark !== undefined);
  const place = `${shown.marked ? "▶ " : ""}#${seq}`;
  const head = `${style.bold(`${place} ${who}`)} ${style.dim([formatDateTime(at), ...remarks].join(" · "))}`;
  return [head, ...formatMessageBody(message), ""];
}

export function formatMessageBody(message: Message): string[] {
  const isTool = message.role === "tool";
  return [
    ...message.parts.flatMap((part) => formatPart(part, isTool)),
    ...(message.toolCalls ?? []).map(formatCall),
  ];
}

function formatPart(part: Part, isTool: boolean): string[] {
  if (part.type === "text")
    return isTool ? [`← ${shortenLine(part.text)}`] : toPrintable(part.text).split("\n");
  if (part.type === "resource") return [`[resource: ${toOneLine(part.uri)}]`];
  return [`[${part.type}: ${toOneLine(part.name ?? part.mimeType)}, ${formatSize(part.size)}]`];
}

function formatCall({ name, arguments: given }: ToolCall): string {
  const shown = given === undefined ? "" : typeof given === "string" ? given : JSON.stringify(given);
  return `→ ${toOneLine(name)} ${shortenLine(shown)}`.trimEnd();
}

function shortenLine(text: string): string {
  const line = cutToWidth(toOneLine(text.slice(0, 4 * MAX_SHORT_LENGTH)), MAX_SHORT_LENGTH);
  return text.length > 4 * MAX_SHORT_LENGTH && !line.endsWith("…") ? `${line}…` : line;
}
