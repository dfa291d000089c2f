import type { ChatCommand } from "../commands/command.ts";
import { findChatCommand } from "../commands/table.ts";
import type { AccessRole } from "../core/access.ts";
import { parseCommand, unescapeSlash } from "../core/command-grammar.ts";
import { PostriderError } from "../core/errors.ts";
import { getText, type NewMessage, textPart } from "../core/message.ts";
import type { Inbound } from "../ports/platform.ts";
import { prepareMessages } from "../sessions/message-input.ts";
import type { ReadyMessage } from "./accept-messages.ts";

/** How the gateway treats a message. */
export type ClassifiedInbound =
  | { readonly as: "stranger" }
  | { readonly as: "command"; readonly words: string; readonly role: AccessRole }
  | { readonly as: "unreadable"; readonly reason: PostriderError }
  | ({ readonly as: "message" } & ReadyMessage);

/** Recognises commands before messages are queued, so that they work while a turn runs. */
export function classifyInbound(
  inbound: Inbound,
  role: AccessRole | undefined,
  custom: readonly ChatCommand[] = [],
): ClassifiedInbound {
  if (role === undefined) return { as: "stranger" };
  const words = getText(inbound.message);
  const hasOnlyText = inbound.message.parts.every(({ type }) => type === "text");
  const command = hasOnlyText ? parseCommand(words) : undefined;
  // In a group, an unknown command is meant for another bot.
  const isOurs =
    command !== undefined &&
    (inbound.source.chatType === "dm" || findChatCommand(command.name, custom) !== undefined);
  if (isOurs) return { as: "command", words, role };
  const message = parseInboundMessage(inbound);
  return message instanceof PostriderError
    ? { as: "unreadable", reason: message }
    : { as: "message", inbound, message };
}

/** The message as it is stored, or the reason why it cannot be. */
export function parseInboundMessage(inbound: Inbound): NewMessage | PostriderError {
  try {
    const [message] = prepareMessages(buildMessage(inbound)).messages;
    const isEmpty = message?.parts.every((part) => part.type === "text" && part.text.trim() === "") ?? true;
    return message === undefined || isEmpty
      ? new PostriderError("invalid_input", "That message is empty.")
      : message;
  } catch (error) {
    if (error instanceof PostriderError) return error;
    throw error;
  }
}

/** Adds the origin, and removes the slash that keeps a text from being a command. */
function buildMessage({ source, messageId, message }: Inbound): NewMessage {
  const [first, ...more] = message.parts;
  const parts = first?.type === "text" ? [textPart(unescapeSlash(first.text)), ...more] : message.parts;
  return {
    ...message,
    parts,
    origin: {
      platform: source.platform,
      platformMessageId: messageId,
      ...(source.userId !== undefined && { userId: source.userId }),
      ...(source.userName !== undefined && { userName: source.userName }),
      ...message.origin,
    },
  };
}
