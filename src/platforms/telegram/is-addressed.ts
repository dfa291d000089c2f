import type { Message, MessageEntity } from "grammy/types";

/** Our own bot, from `getMe`. */
export interface BotUser {
  readonly id: number;
  readonly username: string;
}

/** Whether a message in a group is meant for us: it mentions us, replies to us or is a command. */
export function isAddressed(message: Message, me: BotUser): boolean {
  const reply = message.reply_to_message;
  // Every message in a topic is a reply to the topic's first message.
  if (reply?.from?.id === me.id && reply.forum_topic_created === undefined) return true;
  return getEntities(message).some(
    (entity) => isMention(message, entity, me) || findCommandTarget(message, entity, me) === "ours",
  );
}

/** Whether the message is a command with another bot's name. */
export function isForOtherBot(message: Message, me: BotUser): boolean {
  return getEntities(message).some((entity) => findCommandTarget(message, entity, me) === "other");
}

/** The text without a leading mention of us. Links behind a text become Markdown links. */
export function readTelegramText(message: Message, me: BotUser): string {
  const text = message.text ?? message.caption ?? "";
  const changes = getEntities(message).flatMap((entity): [from: number, to: number, by: string][] => {
    const end = entity.offset + entity.length;
    if (findCommandTarget(message, entity, me) === "ours") {
      const name = text.slice(entity.offset, end).indexOf("@");
      return name === -1 ? [] : [[entity.offset + name, end, ""]];
    }
    if (isMention(message, entity, me) && text.slice(0, entity.offset).trim() === "") {
      const rest = /^[\s,:]*/.exec(text.slice(end))?.[0].length ?? 0;
      return [[0, end + rest, ""]];
    }
    if (entity.type === "text_link") {
      return [[entity.offset, end, `[${text.slice(entity.offset, end)}](${entity.url})`]];
    }
    return [];
  });
  // From the end, so that earlier offsets stay valid.
  return changes
    .toSorted(([a], [b]) => b - a)
    .reduce((result, [from, to, by]) => result.slice(0, from) + by + result.slice(to), text)
    .toWellFormed();
}

function getEntities(message: Message): readonly MessageEntity[] {
  return message.entities ?? message.caption_entities ?? [];
}

function isMention(message: Message, entity: MessageEntity, me: BotUser): boolean {
  if (entity.type === "text_mention") return entity.user.id === me.id;
  return (
    entity.type === "mention" &&
    readEntityText(message, entity).toLowerCase() === `@${me.username.toLowerCase()}`
  );
}

function findCommandTarget(
  message: Message,
  entity: MessageEntity,
  me: BotUser,
): "ours" | "other" | undefined {
  if (entity.type !== "bot_command" || entity.offset !== 0) return undefined;
  const [, name] = readEntityText(message, entity).split("@");
  return name === undefined || name.toLowerCase() === me.username.toLowerCase() ? "ours" : "other";
}

function readEntityText(message: Message, { offset, length }: MessageEntity): string {
  return (message.text ?? message.caption ?? "").slice(offset, offset + length);
}
