import { fenced } from "./fence.ts";
import { type Message, type Part, type Role, textOf } from "./message.ts";
import { plural } from "./plural.ts";
import { printable } from "./printable.ts";
import type { Session } from "./session.ts";
import { zonedParts } from "./zone.ts";

/** A session as a document for people to read: what it shows, in Markdown, and nothing that steers a terminal. */
export function transcript(session: Session, shown: readonly Message[], zone: string): string {
  const facts = [
    `- session: ${session.id} (${session.handle})`,
    `- begun: ${clockTime(session.createdAt, zone)} (${zone})`,
    ...(session.origin === undefined ? [] : [`- platform: ${session.origin.platform}`]),
    `- messages: ${shown.length}`,
  ];
  const title = session.title ?? `Session ${session.handle}`;
  const sections = [`# ${title}`, facts.join("\n"), ...shown.map((message) => section(message, zone))];
  return `${printable(sections.join("\n\n"))}\n`;
}

const SPEAKER: Readonly<Record<Role, string>> = {
  user: "You",
  assistant: "Agent",
  tool: "Tool",
  note: "Note",
};

function section(message: Message, zone: string): string {
  const who = message.role === "tool" ? `Tool ${message.toolName ?? ""}`.trim() : speaker(message);
  const stopped = message.origin?.interrupted === true ? ", stopped" : "";
  const head = `## ${who}, ${clockTime(message.at, zone)}${stopped}`;
  const said = textOf(message);
  // A tool's output is shown as it is, whatever Markdown would make of it.
  const body = message.role === "tool" ? fenced(said) : closed(said);
  const calls = (message.toolCalls ?? []).map(
    (call) => `Calls ${call.name}:\n\n${fenced(JSON.stringify(call.arguments, null, 2) ?? "", "json")}`,
  );
  return [head, body, ...calls, ...message.parts.flatMap(attachment)]
    .filter((part) => part !== "")
    .join("\n\n");
}

function speaker(message: Message): string {
  // The end of a process, told to the agent: nobody said it.
  if (message.role === "user" && message.origin?.proactive) return "Postrider";
  const name = message.role === "user" ? message.origin?.userName : undefined;
  return name?.replaceAll(/\s+/g, " ").trim() || SPEAKER[message.role];
}

function attachment(part: Part): string[] {
  if (part.type === "text") return [];
  if (part.type === "resource") return [`*resource: ${part.uri}*`];
  return [`*${part.type}: ${part.name ?? part.mimeType}, ${plural(part.size, "byte")}*`];
}

/** An answer that was stopped inside a code block must not make code of all that follows. */
function closed(text: string): string {
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const [, fence = "", info = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line.trimEnd()) ?? [];
    if (fence === "") continue;
    if (open === undefined) open = fence.startsWith("`") && info.includes("`") ? undefined : fence;
    else if (fence.startsWith(open) && info === "") open = undefined;
  }
  return open === undefined ? text : `${text}\n${open}`;
}

/** `2026-03-15 09:24` on the wall clock of a zone. */
export function clockTime(at: number, zone: string): string {
  const { year, month, day, hour, minute } = zonedParts(at, zone);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}`;
}
