import {
  type BotAccount,
  type BotApiObject,
  type FakeChat,
  type StoredMessage,
  toBotApiMessage,
  toBotApiUser,
} from "./bot-account.ts";
import type { ChatMessage, FakeControls, FakeFile, FileOptions, SayOptions } from "./types.ts";

/** The controls of one bot's chats: actions of people, and the messages in them. */
export function createFakeControls(to: BotAccount, now: () => number): FakeControls {
  function open(
    chat: Omit<FakeChat, "topics" | "messages" | "nextMessage" | "isBotBlocked" | "lastSentAt">,
  ): number {
    to.chats.set(chat.id, {
      ...chat,
      topics: new Map(),
      messages: [],
      nextMessage: 1,
      isBotBlocked: false,
      lastSentAt: Number.NEGATIVE_INFINITY,
    });
    return chat.id;
  }

  function add(
    chatId: number,
    user: number | null,
    fields: Partial<StoredMessage>,
    { topic, replyTo, quote }: SayOptions = {},
  ): number {
    const chat = to.chat(chatId);
    const message: StoredMessage = {
      id: chat.nextMessage,
      by: user ?? undefined,
      text: "",
      edits: [],
      files: [],
      at: now(),
      ...(topic !== undefined && { topic }),
      ...(replyTo !== undefined && { replyTo }),
      ...(quote !== undefined && { raw: { quote: { text: quote, position: 0, is_manual: true } } }),
      ...fields,
    };
    chat.nextMessage += 1;
    chat.messages.push(message);
    to.push({ [chat.type === "channel" ? "channel_post" : "message"]: toBotApiMessage(to, chat, message) });
    return message.id;
  }

  function keep(bytes: Uint8Array, options: FileOptions): FakeFile {
    const id = `file${to.createId()}`;
    const { kind = "document", name, mimeType, claimedSize } = options;
    const file: FakeFile = {
      id,
      kind,
      size: claimedSize ?? bytes.byteLength,
      ...(name !== undefined && { name }),
      ...(mimeType !== undefined && { mimeType }),
    };
    to.files.set(id, { file, bytes, path: `${kind}s/${id}.bin` });
    return file;
  }

  function addFile(chat: number, user: number | null, bytes: Uint8Array, options: FileOptions): number {
    const { caption = "", group } = options;
    const file = keep(bytes, options);
    return add(
      chat,
      user,
      { text: caption, files: [file], ...(group !== undefined && { album: group }) },
      options,
    );
  }

  function find(chat: FakeChat, id: number): StoredMessage {
    const message = chat.messages.find((one) => one.id === id);
    if (message === undefined) throw new Error(`There is no message ${id} in chat ${chat.id}.`);
    return message;
  }

  return {
    async addUser(user) {
      to.users.set(user.id, user);
    },
    async openDm(id) {
      const user = to.users.get(id) ?? { id, firstName: `User ${id}` };
      to.users.set(id, user);
      return to.chats.has(id) ? id : open({ id, type: "private", user, isForum: false });
    },
    async openGroup({ title, kind = "group", forum = false }) {
      const type = forum ? "supergroup" : kind;
      const id = type === "group" ? -to.createId() : -1_000_000_000_000 - to.createId();
      return open({ id, type, title, isForum: forum });
    },
    openChannel: async (title) =>
      open({ id: -1_000_000_000_000 - to.createId(), type: "channel", title, isForum: false }),
    async openTopic(id, name) {
      const chat = to.chat(id);
      const topic = chat.nextMessage;
      chat.nextMessage += 1;
      chat.topics.set(topic, name);
      return topic;
    },
    async deleteTopic(id, topic) {
      to.chat(id).topics.delete(topic);
    },
    say: async (chat, user, text, options) => add(chat, user, { text }, options),
    async sayAll(chat, user, texts) {
      for (const text of texts) add(chat, user, { text });
    },
    async edit(id, messageId, text) {
      const chat = to.chat(id);
      const message = find(chat, messageId);
      message.edits.push(message.text);
      message.text = text;
      message.editedAt = now();
      const name = chat.type === "channel" ? "edited_channel_post" : "edited_message";
      to.push({ [name]: toBotApiMessage(to, chat, message) });
    },
    sendPhoto: async (chat, user, bytes, options = {}) =>
      addFile(chat, user, bytes, { ...options, kind: "photo" }),
    sendFile: async (chat, user, bytes, options = {}) => addFile(chat, user, bytes, options),
    async sendAlbum(chat, user, photos, options = {}) {
      const group = options.group ?? `album${to.createId()}`;
      return photos.map(({ bytes, caption }) =>
        addFile(chat, user, bytes, {
          ...options,
          kind: "photo",
          group,
          ...(caption !== undefined && { caption }),
        }),
      );
    },
    sendRaw: async (chat, user, raw) => add(chat, user, { raw }),
    async redeliver(id) {
      const chat = to.chat(id);
      const message = chat.messages.findLast(({ by }) => by !== "bot");
      if (message === undefined) throw new Error(`Nobody has said anything in chat ${id}.`);
      to.push({ [chat.type === "channel" ? "channel_post" : "message"]: toBotApiMessage(to, chat, message) });
    },
    async pushUpdate(fields) {
      to.push(fields);
    },
    async press(id, messageId, user, label) {
      const chat = to.chat(id);
      const message = find(chat, messageId);
      const button = message.markup?.inline_keyboard.flat().find(({ text }) => text === label);
      const person = to.users.get(user);
      if (button?.callback_data === undefined) throw new Error(`There is no button ${label} to press.`);
      if (person === undefined) throw new Error(`There is no user ${user}.`);
      const press = `press${to.createId()}`;
      to.presses.set(press, {});
      const query: BotApiObject = {
        id: press,
        from: toBotApiUser(person),
        chat_instance: String(id),
        message: toBotApiMessage(to, chat, message),
        data: button.callback_data,
      };
      to.push({ callback_query: query });
      return press;
    },
    pressAnswers: async () =>
      [...to.presses].flatMap(([press, { answer }]) => (answer === undefined ? [] : [{ press, ...answer }])),
    async setBotBlocked(chat, isOut) {
      to.chat(chat).isBotBlocked = isOut;
    },
    async upgrade(id) {
      const chat = to.chat(id);
      const movedTo = -1_000_000_000_000 - to.createId();
      open({ ...chat, id: movedTo, type: "supergroup" });
      add(id, null, { raw: { migrate_to_chat_id: movedTo } });
      chat.movedTo = movedTo;
      return movedTo;
    },
    async remove(id, messageId) {
      const { messages } = to.chat(id);
      const at = messages.findIndex((message) => message.id === messageId);
      if (at !== -1) messages.splice(at, 1);
    },
    messages: async (chat) => to.chat(chat).messages.map(toChatMessage),
    chats: async () => [...to.chats.keys()],
    file: async (id) => to.files.get(id)?.bytes,
    commands: async () => to.commands,
    calls: async (method) =>
      to.calls.filter((call) =>
        method === undefined ? call.method !== "getUpdates" : call.method === method,
      ),
    pending: async () => to.updates.length,
    untilAnswered: (chat, count) =>
      to.waitUntil(() => to.chat(chat).messages.filter(({ by }) => by === "bot").length >= count),
    async untilShown(chat, words) {
      const find = (): StoredMessage | undefined =>
        to.chat(chat).messages.find(({ by, text }) => by === "bot" && text.includes(words));
      await to.waitUntil(() => find() !== undefined);
      const found = find();
      if (found === undefined) throw new Error(`It is gone again: ${words}`);
      return toChatMessage(found);
    },
    untilIdle: () => to.waitUntil(() => to.updates.length === 0 && to.isPolled),
    untilCalled: (name, count) =>
      to.waitUntil(() => to.calls.filter(({ method }) => method === name).length >= count),
    async setFaults(faults) {
      to.faults.set(faults);
    },
    async failNext(method, fault) {
      to.faults.next(method, fault);
    },
    async setFlood(everyMs) {
      to.floodMs = everyMs;
    },
    async setWebhook(isSet) {
      to.hasWebhook = isSet;
      to.notifyChanged();
    },
  };
}

function toChatMessage({ markup, raw: _raw, editedAt: _at, edits, ...message }: StoredMessage): ChatMessage {
  const buttons = (markup?.inline_keyboard ?? []).map((row) =>
    row.map(({ text, callback_data: data, copy_text: copy }) => ({
      label: String(text),
      ...(typeof data === "string" && { data }),
      ...(typeof copy === "object" && copy !== null && "text" in copy && { copies: String(copy.text) }),
    })),
  );
  return { ...message, edits: [...edits], buttons };
}
