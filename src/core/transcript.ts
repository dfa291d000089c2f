import { fenceCode } from "./fence.ts";
import { getText, type Message, type Part, type Role } from "./message.ts";
import { pluralize } from "./pluralize.ts";
import { toPrintable } from "./printable.ts";
import type { Session } from "./session.ts";
import { getZonedParts } from "./zone.ts";

/** Formats the messages that a session shows as Markdown, without control characters. */
export function formatTranscript(session: Session, shown: readonly Message[], zone: string): string {
  const facts = [
    `- session: ${session.id} (${session.handle})`,
    `- begun: ${formatClockTime(session.createdAt, zone)} (${zone})`,
    ...(session.origin === undefined ? [] : [`- platform: ${session.origin.platform}`]),
    `- messages: ${shown.length}`,
  ];
  const title = session.title ?? `Session ${session.handle}`;
  const sections = [`# ${title}`, facts.join("\n"), ...shown.map((message) => formatSection(message, zone))];
  return `${toPrintable(sections.join("\n\n"))}\n`;
}

const SPEAKER: Readonly<Record<Role, string>> = {
  user: "You",
  assistant: "Agent",
  tool: "Tool",
  note: "Note",
};

function formatSection(message: Message, zone: string): string {
  const who = message.role === "tool" ? `Tool ${message.toolName ?? ""}`.trim() : formatSpeaker(message);
  const stopped = message.origin?.interrupted === true ? ", stopped" : "";
  const head = `## ${who}, ${formatClockTime(message.at, zone)}${stopped}`;
  const said = getText(message);
  // The output of a tool is not Markdown.
  const body = message.role === "tool" ? fenceCode(said) : closeFence(said);
  const calls = (message.toolCalls ?? []).map(
    (call) => `Calls ${call.name}:\n\n${fenceCode(JSON.stringify(call.arguments, null, 2) ?? "", "json")}`,
  );
  return [head, body, ...calls, ...message.parts.flatMap(formatAttachment)]
    .filter((part) => part !== "")
    .join("\n\n");
}

function formatSpeaker(message: Message): string {
  // Postrider's report about the end of a process.
  if (message.role === "user" && message.origin?.proactive) return "Postrider";
  const name = message.role === "user" ? message.origin?.userName : undefined;
  return name?.replaceAll(/\s+/g, " ").trim() || SPEAKER[message.role];
}

function formatAttachment(part: Part): string[] {
  if (part.type === "text") return [];
  if (part.type === "resource") return [`*resource: ${part.uri}*`];
  return [`*${part.type}: ${part.name ?? part.mimeType}, ${pluralize(part.size, "byte")}*`];
}

/** Closes an open code block of an interrupted answer, so that the following messages are not code. */
function closeFence(text: string): string {
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const [, fence = "", info = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line.trimEnd()) ?? [];
    if (fence === "") continue;
    if (open === undefined) open = fence.startsWith("`") && info.includes("`") ? undefined : fence;
    else if (fence.startsWith(open) && info === "") open = undefined;
  }
  return open === undefined ? text : `${text}\n${open}`;
}

/** `2026-03-15 09:24` in the time zone. */
export function formatClockTime(at: number, zone: string): string {
  const { year, month, day, hour, minute } = getZonedParts(at, zone);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}`;
}
