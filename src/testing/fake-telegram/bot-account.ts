import { createFaultInjector, type FaultInjector } from "./faults.ts";
import type { BotApiCall, ChatMessage, FakeFile, FakeUser } from "./types.ts";

export type BotApiObject = Readonly<Record<string, unknown>>;

export interface StoredMessage extends Omit<ChatMessage, "edits" | "buttons"> {
  text: string;
  html?: string;
  edits: string[];
  markup?: { readonly inline_keyboard: readonly (readonly BotApiObject[])[] };
  /** Further fields of the Bot API's message. */
  readonly raw?: BotApiObject;
  editedAt?: number;
}

export interface FakeChat {
  readonly id: number;
  readonly type: "private" | "group" | "supergroup" | "channel";
  readonly title?: string;
  readonly user?: FakeUser;
  readonly isForum: boolean;
  readonly topics: Map<number, string>;
  readonly messages: StoredMessage[];
  nextMessage: number;
  isBotBlocked: boolean;
  movedTo?: number;
  lastSentAt: number;
}

/** One bot with its chats. */
export interface BotAccount {
  readonly token: string;
  readonly id: number;
  readonly username: string;
  readonly users: Map<number, FakeUser>;
  readonly chats: Map<number, FakeChat>;
  readonly files: Map<string, { readonly file: FakeFile; readonly bytes: Uint8Array; readonly path: string }>;
  readonly updates: { readonly id: number; readonly body: BotApiObject }[];
  readonly calls: { -readonly [Field in keyof BotApiCall]: BotApiCall[Field] }[];
  readonly presses: Map<string, { answer?: { readonly text?: string } }>;
  readonly faults: FaultInjector;
  commands: readonly { readonly command: string; readonly description: string }[];
  nextUpdate: number;
  floodMs: number;
  hasWebhook: boolean;
  /** Whether a long poll is in progress. */
  isPolled: boolean;
  /** A unique number. */
  createId(): number;
  chat(id: number): FakeChat;
  /** Wakes all callers of `waitUntil`. */
  notifyChanged(): void;
  /** Resolves when the condition is true. */
  waitUntil(isSo: () => boolean): Promise<void>;
  push(body: BotApiObject): void;
}

/** More than any test needs. */
const MAX_CALLS = 20_000;

export function createBotAccount(token: string, username: string): BotAccount {
  const waiting = new Set<() => void>();
  let last = 1000;
  const made: BotAccount = {
    token,
    id: Number(token.split(":")[0]),
    username,
    users: new Map(),
    chats: new Map(),
    files: new Map(),
    updates: [],
    calls: [],
    presses: new Map(),
    faults: createFaultInjector(),
    commands: [],
    nextUpdate: 500_001,
    floodMs: 0,
    hasWebhook: false,
    isPolled: false,
    createId() {
      last += 1;
      return last;
    },
    chat(id) {
      const chat = made.chats.get(id);
      if (chat === undefined) throw new Error(`There is no chat ${id} here.`);
      return chat;
    },
    notifyChanged() {
      if (made.calls.length > MAX_CALLS) made.calls.splice(0, made.calls.length - MAX_CALLS);
      for (const look of [...waiting]) look();
    },
    waitUntil(isSo) {
      return new Promise((resolve) => {
        const look = (): void => {
          if (!isSo()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      });
    },
    push(body) {
      for (let times = made.faults.isUpdateDuplicated() ? 2 : 1; times > 0; times -= 1) {
        made.updates.push({ id: made.nextUpdate, body });
        made.nextUpdate += 1;
      }
      made.notifyChanged();
    },
  };
  return made;
}

/** A chat in the format of the Bot API. */
export function toBotApiChat(chat: FakeChat): BotApiObject {
  const { id, type, title, user, isForum } = chat;
  return {
    id,
    type,
    ...(title !== undefined && { title }),
    ...(user !== undefined && toBotApiUser(user)),
    ...(isForum && { is_forum: true }),
    // A direct chat has the names of its person, but not the field `is_bot`.
    is_bot: undefined,
  };
}

export function toBotApiUser({ id, firstName, username }: FakeUser): BotApiObject {
  return { id, is_bot: false, first_name: firstName, ...(username !== undefined && { username }) };
}

/** A message in the format of the Bot API, with one level of replies. */
export function toBotApiMessage(
  to: BotAccount,
  chat: FakeChat,
  message: StoredMessage,
  withReply = true,
): BotApiObject {
  const { id, by, text, files, replyTo, topic, at, raw, markup, editedAt, album } = message;
  const user = typeof by === "number" ? to.users.get(by) : undefined;
  const reply = withReply ? chat.messages.find((other) => other.id === replyTo) : undefined;
  const [file] = files;
  const entities = findEntities(text);
  return {
    message_id: id,
    date: Math.floor(at / 1000),
    chat: toBotApiChat(chat),
    ...(user !== undefined && { from: toBotApiUser(user) }),
    ...(by === "bot" && {
      from: { id: to.id, is_bot: true, first_name: to.username, username: to.username },
    }),
    ...(chat.type === "channel" && { sender_chat: toBotApiChat(chat) }),
    ...(topic !== undefined && { message_thread_id: topic, is_topic_message: true }),
    ...(reply !== undefined && { reply_to_message: toBotApiMessage(to, chat, reply, false) }),
    ...(editedAt !== undefined && { edit_date: Math.floor(editedAt / 1000) }),
    ...(album !== undefined && { media_group_id: album }),
    ...(file === undefined
      ? text !== "" && { text, ...(entities.length > 0 && { entities }) }
      : {
          ...toBotApiFile(file),
          ...(text !== "" && { caption: text, ...(entities.length > 0 && { caption_entities: entities }) }),
        }),
    ...(markup !== undefined && { reply_markup: markup }),
    ...raw,
  };
}

function toBotApiFile({ id, kind, name, mimeType, size }: FakeFile): BotApiObject {
  const base = { file_id: id, file_unique_id: `u${id}`, file_size: size };
  if (kind === "photo") {
    const small = { ...base, file_id: `${id}-small`, width: 90, height: 60, file_size: 1 };
    return { photo: [small, { ...base, width: 900, height: 600 }] };
  }
  const more = {
    ...(name !== undefined && { file_name: name }),
    ...(mimeType !== undefined && { mime_type: mimeType }),
  };
  return { [kind]: { ...base, ...(kind === "document" ? {} : { duration: 1 }), ...more } };
}

/** Entities that Telegram detects in typed text. */
function findEntities(text: string): BotApiObject[] {
  const found: BotApiObject[] = [];
  for (const match of text.matchAll(/(?<![\w/])\/[a-zA-Z]\w{0,63}(?:@\w+)?/g)) {
    found.push({ type: "bot_command", offset: match.index, length: match[0].length });
  }
  for (const match of text.matchAll(/(?<![\w/])@\w{3,32}/g)) {
    found.push({ type: "mention", offset: match.index, length: match[0].length });
  }
  return found;
}
