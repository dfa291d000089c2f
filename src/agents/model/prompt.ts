import type { ModelMessage } from "ai";
import { type Message, type Part, textOf } from "../../core/message.ts";
import { resourceWords } from "../../core/resource-words.ts";
import type { AgentTurn } from "../../ports/agent.ts";

/**
 * The history as every provider takes it. Calls and results of earlier turns are told in words: the chat may have had
 * another model then, whose calls mean nothing to this one, or other tools, and providers refuse calls of tools that the
 * request does not offer. Only what is called in the turn itself goes to and fro in the provider's own form.
 */
export async function messagesFor(turn: AgentTurn): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [];
  for (const message of turn.history) {
    if (message.role === "assistant") messages.push({ role: "assistant", content: answered(message) });
    else if (message.role === "user") messages.push({ role: "user", content: await saidBy(message, turn) });
    else messages.push({ role: "user", content: aside(message) });
  }
  return messages;
}

/** The next turn sees that an answer was cut off. */
function answered(message: Message): string {
  const calls = (message.toolCalls ?? []).map(
    ({ name, arguments: given }) => `[called ${name} ${JSON.stringify(given) ?? ""}]`,
  );
  const why = message.extra?.error === undefined ? "" : `: ${message.extra.error}`;
  const stopped = message.origin?.interrupted === true ? [`[interrupted${why}]`] : [];
  return [textOf(message), ...calls, ...stopped].filter(Boolean).join("\n");
}

function aside(message: Message): string {
  return message.role === "tool"
    ? `[${message.toolName ?? "a tool"} answered: ${message.parts.map(wordsOf).join("\n")}]`
    : `[Note: ${textOf(message)}]`;
}

type UserContent = Extract<ModelMessage, { role: "user" }>["content"];

async function saidBy(message: Message, turn: AgentTurn): Promise<UserContent> {
  if (message.parts.every((part) => part.type === "text")) return textOf(message);
  const parts = await Promise.all(message.parts.map((part) => contentOf(part, turn)));
  return parts.filter((part) => part !== undefined);
}

async function contentOf(part: Part, turn: AgentTurn) {
  if (part.type === "image") {
    const data = await turn.blob(part.blob);
    if (data !== undefined) return { type: "file" as const, data, mediaType: part.mimeType };
  }
  return { type: "text" as const, text: wordsOf(part) };
}

/** A part for whoever reads only words. */
export function wordsOf(part: Part): string {
  if (part.type === "text") return part.text;
  if (part.type === "resource") return resourceWords(part);
  return `[${part.type} ${part.name ?? part.mimeType}]`;
}
