import { formatResource } from "../../core/format-resource.ts";
import type { Message, Part } from "../../core/message.ts";

/** The text of a whole message, with the names of pictures and files. */
export function formatMessageText({ parts }: Pick<Message, "parts">): string {
  return parts.map(formatPartText).join("\n");
}

/** A part as text. */
export function formatPartText(part: Part): string {
  if (part.type === "text") return part.text;
  if (part.type === "resource") return formatResource(part);
  return `[${part.type} ${part.name ?? part.mimeType}]`;
}
