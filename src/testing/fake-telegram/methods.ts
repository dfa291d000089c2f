import {
  type BotAccount,
  type BotApiObject,
  type FakeChat,
  type StoredMessage,
  toBotApiMessage,
} from "./bot-account.ts";
import { parseHtml } from "./html.ts";
import type { MultipartForm } from "./multipart.ts";
import type { FakeFile, FileKind } from "./types.ts";

/** An error answer of the Bot API. */
export class BotApiError extends Error {
  readonly code: number;
  readonly parameters: Readonly<Record<string, number>> | undefined;

  constructor(code: number, description: string, parameters?: Readonly<Record<string, number>>) {
    super(description);
    this.code = code;
    this.parameters = parameters;
  }
}

export interface BotApiRequest {
  readonly payload: BotApiObject;
  readonly files: MultipartForm["files"];
  readonly now: number;
}

type BotApiMethod = (to: BotAccount, request: BotApiRequest) => unknown;

const MAX_TEXT = 4096;
const MAX_CAPTION = 1024;

export const BOT_API_METHODS: Readonly<Record<string, BotApiMethod>> = {
  getMe: (to) => ({
    id: to.id,
    is_bot: true,
    first_name: to.username,
    username: to.username,
    can_join_groups: true,
    can_read_all_group_messages: true,
    supports_inline_queries: false,
  }),
  deleteWebhook(to) {
    to.hasWebhook = false;
    return true;
  },
  sendMessage(to, request) {
    const chat = requireWritableChat(to, request);
    return toBotApiMessage(
      to,
      chat,
      storeMessage(to, chat, request, readMessageText(request.payload, "text", MAX_TEXT)),
    );
  },
  sendPhoto: (to, request) => sendOne(to, request, "photo"),
  sendDocument: (to, request) => sendOne(to, request, "document"),
  sendMediaGroup(to, request) {
    const chat = requireWritableChat(to, request);
    const media = request.payload.media as readonly BotApiObject[];
    if (!Array.isArray(media) || media.length < 2 || media.length > 10) {
      throw new BotApiError(400, "Bad Request: wrong number of media in the album");
    }
    if (new Set(media.map(({ type }) => type)).size > 1) {
      throw new BotApiError(400, "Bad Request: documents and photos can't be mixed in an album");
    }
    const album = `album${to.createId()}`;
    return media.map((item) => {
      const file = upload(to, item.media, item.type as FileKind, request);
      const words = readMessageText(item, "caption", MAX_CAPTION);
      return toBotApiMessage(to, chat, storeMessage(to, chat, request, words, { files: [file], album }));
    });
  },
  editMessageText: (to, request) =>
    editMessage(to, request, readMessageText(request.payload, "text", MAX_TEXT), false),
  editMessageCaption: (to, request) =>
    editMessage(to, request, readMessageText(request.payload, "caption", MAX_CAPTION), true),
  sendChatAction(to, request) {
    requireWritableChat(to, request, true);
    return true;
  },
  setMyCommands(to, { payload }) {
    const commands = payload.commands as { command: string; description: string }[];
    for (const { command, description } of commands) {
      if (!/^[a-z0-9_]{1,32}$/.test(command)) throw new BotApiError(400, "Bad Request: BOT_COMMAND_INVALID");
      if (description.length < 1 || description.length > 256) {
        throw new BotApiError(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID");
      }
    }
    to.commands = commands;
    return true;
  },
  getFile(to, { payload }) {
    const kept = to.files.get(String(payload.file_id));
    if (kept === undefined) throw new BotApiError(400, "Bad Request: invalid file_id");
    if (kept.file.size > 20 * 1024 * 1024) throw new BotApiError(400, "Bad Request: file is too big");
    return {
      file_id: kept.file.id,
      file_unique_id: `u${kept.file.id}`,
      file_size: kept.file.size,
      file_path: kept.path,
    };
  },
  answerCallbackQuery(to, { payload }) {
    const press = to.presses.get(String(payload.callback_query_id));
    if (press === undefined || press.answer !== undefined) {
      throw new BotApiError(
        400,
        "Bad Request: query is too old and response timeout expired or query ID is invalid",
      );
    }
    press.answer = typeof payload.text === "string" ? { text: payload.text } : {};
    return true;
  },
  createForumTopic(to, { payload }) {
    const chat = to.chat(Number(payload.chat_id));
    if (!chat.isForum) throw new BotApiError(400, "Bad Request: the chat is not a forum");
    const topic = chat.nextMessage;
    chat.nextMessage += 1;
    chat.topics.set(topic, String(payload.name));
    return { message_thread_id: topic, name: payload.name, icon_color: 0 };
  },
  deleteMessage(to, { payload }) {
    const { messages } = to.chat(Number(payload.chat_id));
    const at = messages.findIndex(({ id }) => id === Number(payload.message_id));
    if (at === -1) throw new BotApiError(400, "Bad Request: message to delete not found");
    messages.splice(at, 1);
    return true;
  },
};

function sendOne(to: BotAccount, request: BotApiRequest, kind: "photo" | "document"): BotApiObject {
  const chat = requireWritableChat(to, request);
  const file = upload(to, request.payload[kind], kind, request);
  const words = readMessageText(request.payload, "caption", MAX_CAPTION);
  return toBotApiMessage(to, chat, storeMessage(to, chat, request, words, { files: [file] }));
}

/** Returns the chat, or throws if the bot cannot write there. */
function requireWritableChat(to: BotAccount, { payload, now }: BotApiRequest, isFree = false): FakeChat {
  const chat = to.chats.get(Number(payload.chat_id));
  if (chat === undefined) throw new BotApiError(400, "Bad Request: chat not found");
  if (chat.movedTo !== undefined) {
    throw new BotApiError(400, "Bad Request: group chat was upgraded to a supergroup chat", {
      migrate_to_chat_id: chat.movedTo,
    });
  }
  if (chat.isBotBlocked) {
    throw new BotApiError(
      403,
      chat.type === "private"
        ? "Forbidden: bot was blocked by the user"
        : `Forbidden: bot was kicked from the ${chat.type} chat`,
    );
  }
  const topic = payload.message_thread_id;
  if (topic !== undefined && !chat.topics.has(Number(topic))) {
    throw new BotApiError(400, "Bad Request: message thread not found");
  }
  const early = chat.lastSentAt + to.floodMs - now;
  if (!isFree && early > 0) {
    const seconds = Math.ceil(early / 1000);
    throw new BotApiError(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
  }
  return chat;
}

interface MessageText {
  readonly text: string;
  readonly html?: string;
}

/** The limit applies to the visible text, after formatting. */
function readMessageText(payload: BotApiObject, field: "text" | "caption", limit: number): MessageText {
  const given = typeof payload[field] === "string" ? payload[field] : "";
  const isHtml = payload.parse_mode === "HTML";
  const parsed = isHtml ? parseHtml(given) : { text: given };
  if ("error" in parsed) throw new BotApiError(400, parsed.error);
  const text = parsed.text.trim();
  if (field === "text" && text === "") throw new BotApiError(400, "Bad Request: message text is empty");
  if (text.length > limit) {
    throw new BotApiError(400, `Bad Request: message ${field === "text" ? "" : "caption "}is too long`);
  }
  return { text, ...(isHtml && { html: given }) };
}

function storeMessage(
  to: BotAccount,
  chat: FakeChat,
  { payload, now }: BotApiRequest,
  words: MessageText,
  more: Partial<StoredMessage> = {},
): StoredMessage {
  const markup = readMarkup(payload);
  const topic = payload.message_thread_id === undefined ? undefined : Number(payload.message_thread_id);
  const replyTo = findRepliedMessage(chat, payload);
  const message: StoredMessage = {
    id: chat.nextMessage,
    by: "bot",
    edits: [],
    files: [],
    at: now,
    ...words,
    ...(markup !== undefined && { markup }),
    ...(topic !== undefined && { topic }),
    ...(replyTo !== undefined && { replyTo }),
    ...more,
  };
  chat.nextMessage += 1;
  chat.messages.push(message);
  chat.lastSentAt = now;
  to.notifyChanged();
  return message;
}

function findRepliedMessage(chat: FakeChat, payload: BotApiObject): number | undefined {
  const reply = payload.reply_parameters as BotApiObject | undefined;
  if (reply === undefined) return undefined;
  const id = Number(reply.message_id);
  if (chat.messages.some((message) => message.id === id)) return id;
  if (reply.allow_sending_without_reply === true) return undefined;
  throw new BotApiError(400, "Bad Request: message to be replied not found");
}

function readMarkup(payload: BotApiObject): StoredMessage["markup"] {
  const markup = payload.reply_markup as StoredMessage["markup"];
  for (const button of markup?.inline_keyboard.flat() ?? []) {
    const data = button.callback_data;
    if (typeof data === "string" && (data === "" || Buffer.byteLength(data) > 64)) {
      throw new BotApiError(400, "Bad Request: BUTTON_DATA_INVALID");
    }
    const copy = button.copy_text as BotApiObject | undefined;
    if (copy !== undefined && String(copy.text).length > 256) {
      throw new BotApiError(400, "Bad Request: BUTTON_COPY_TEXT_INVALID");
    }
  }
  return markup;
}

function upload(to: BotAccount, reference: unknown, kind: FileKind, { files }: BotApiRequest): FakeFile {
  const name = /^attach:\/\/(.+)$/.exec(String(reference))?.[1];
  const given = name === undefined ? undefined : files.get(name);
  if (given === undefined)
    throw new BotApiError(400, "Bad Request: wrong file identifier or no file was uploaded");
  if (given.bytes.byteLength === 0) throw new BotApiError(400, "Bad Request: file must be non-empty");
  if (kind === "photo" && given.bytes.byteLength > 10 * 1024 * 1024) {
    throw new BotApiError(400, "Bad Request: PHOTO_SAVE_FILE_INVALID");
  }
  const id = `file${to.createId()}`;
  const file: FakeFile = { id, kind, name: given.name, size: given.bytes.byteLength };
  to.files.set(id, { file, bytes: given.bytes, path: `${kind}s/${id}.bin` });
  return file;
}

function editMessage(
  to: BotAccount,
  request: BotApiRequest,
  words: MessageText,
  isCaption: boolean,
): BotApiObject {
  const { payload, now } = request;
  const chat = requireWritableChat(to, request);
  const message = chat.messages.find(({ id }) => id === Number(payload.message_id));
  if (message === undefined) throw new BotApiError(400, "Bad Request: message to edit not found");
  if (message.by !== "bot") throw new BotApiError(400, "Bad Request: message can't be edited");
  if (isCaption !== message.files.length > 0) {
    throw new BotApiError(
      400,
      `Bad Request: there is no ${isCaption ? "caption" : "text"} in the message to edit`,
    );
  }
  const markup = readMarkup(payload);
  const buttons = JSON.stringify(markup?.inline_keyboard ?? []);
  const before = JSON.stringify(message.markup?.inline_keyboard ?? []);
  if (message.text === words.text && message.html === words.html && buttons === before) {
    throw new BotApiError(
      400,
      "Bad Request: message is not modified: specified new message content is exactly the same",
    );
  }
  if (message.text !== words.text) message.edits.push(message.text);
  message.text = words.text;
  if (words.html === undefined) delete message.html;
  else message.html = words.html;
  if (markup === undefined) delete message.markup;
  else message.markup = markup;
  message.editedAt = now;
  chat.lastSentAt = now;
  to.notifyChanged();
  return toBotApiMessage(to, chat, message);
}
