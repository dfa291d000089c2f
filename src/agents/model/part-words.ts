import type { Message, Part } from "../../core/message.ts";
import { resourceWords } from "../../core/resource-words.ts";

/** The words of a whole message; pictures and files are named. */
export function messageWords({ parts }: Pick<Message, "parts">): string {
  return parts.map(wordsOf).join("\n");
}

/** A part for whoever reads only words. */
export function wordsOf(part: Part): string {
  if (part.type === "text") return part.text;
  if (part.type === "resource") return resourceWords(part);
  return `[${part.type} ${part.name ?? part.mimeType}]`;
}
