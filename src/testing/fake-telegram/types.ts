/** The controls of the fake for tests. All values can be sent as JSON, so that the fake can run in another process. */

export interface FakeUser {
  readonly id: number;
  readonly firstName: string;
  readonly username?: string;
}

export interface FakeFile {
  readonly id: string;
  readonly kind: FileKind;
  readonly name?: string;
  readonly mimeType?: string;
  readonly size: number;
}

export type FileKind = "photo" | "document" | "voice" | "audio" | "video";

/** One message as people see it in a chat. */
export interface ChatMessage {
  readonly id: number;
  /** The bot, a person by id, or nobody in a channel. */
  readonly by: "bot" | number | undefined;
  /** The visible text, after formatting. */
  readonly text: string;
  /** The HTML that the bot sent, if any. */
  readonly html?: string;
  /** Earlier texts, oldest first. */
  readonly edits: readonly string[];
  readonly buttons: readonly (readonly {
    readonly label: string;
    readonly data?: string;
    readonly copies?: string;
  }[])[];
  readonly files: readonly FakeFile[];
  readonly replyTo?: number;
  readonly topic?: number;
  /** The album of a message of the bot. */
  readonly album?: string;
  readonly at: number;
}

export interface SayOptions {
  readonly topic?: number;
  readonly replyTo?: number;
  /** The quoted part of the other message. */
  readonly quote?: string;
}

export interface FileOptions extends SayOptions {
  readonly caption?: string;
  readonly kind?: FileKind;
  readonly name?: string;
  readonly mimeType?: string;
  /** The size that Telegram reports, if it is not the real one. */
  readonly claimedSize?: number;
  /** Parts with the same group are one album. */
  readonly group?: string;
}

export interface AlbumOptions extends SayOptions {
  /** Parts with the same group are one album. */
  readonly group?: string;
}

export interface GroupOptions {
  readonly title: string;
  readonly kind?: "group" | "supergroup";
  readonly forum?: boolean;
}

/** One received call of the bot, with its outcome. */
export interface BotApiCall {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
  /** It took effect, but the bot got no answer. */
  readonly isDropped?: true;
  /** The error code of the answer. */
  readonly refused?: number;
}

/** The probability of each fault, from 0 to 1. */
export interface Faults {
  readonly seed?: number;
  /** An update is delivered twice, the second time with another id. */
  readonly duplicateUpdates?: number;
  /** A call takes effect, then the connection is cut before the answer. */
  readonly dropAfter?: number;
  /** The same, but only for calls that send or edit a message. */
  readonly dropSends?: number;
  /** The connection is cut before the call takes effect. */
  readonly cut?: number;
  /** A gateway's error page instead of an answer. The call has no effect. */
  readonly badGateway?: number;
  /** The maximum delay of each call. */
  readonly delayMs?: number;
}

/** The fault of the next call of a method. */
export type NextFault =
  | { readonly kind: "dropAfter" | "cut" | "badGateway" }
  /** Never answers. With `after`, the call takes effect. */
  | { readonly kind: "hang"; readonly after?: boolean }
  | {
      readonly kind: "error";
      readonly code: number;
      readonly description: string;
      readonly parameters?: Readonly<Record<string, number>>;
    };

export interface FakeControls {
  addUser(user: FakeUser): Promise<void>;
  /** Opens a direct chat with the bot. Its id is the user's. */
  openDm(user: number): Promise<number>;
  openGroup(options: GroupOptions): Promise<number>;
  openChannel(title: string): Promise<number>;
  openTopic(chat: number, name: string): Promise<number>;
  deleteTopic(chat: number, topic: number): Promise<void>;
  /** A person, or a channel if `user` is null, sends a message. Resolves with its id. */
  say(chat: number, user: number | null, text: string, options?: SayOptions): Promise<number>;
  /** Sends several texts in order. */
  sayAll(chat: number, user: number, texts: readonly string[]): Promise<void>;
  edit(chat: number, message: number, text: string): Promise<void>;
  sendPhoto(chat: number, user: number | null, bytes: Uint8Array, options?: FileOptions): Promise<number>;
  sendFile(chat: number, user: number | null, bytes: Uint8Array, options?: FileOptions): Promise<number>;
  sendAlbum(
    chat: number,
    user: number,
    photos: readonly { readonly bytes: Uint8Array; readonly caption?: string }[],
    options?: AlbumOptions,
  ): Promise<readonly number[]>;
  /** Sends a message with any fields of the Bot API: a sticker, a venue, a service message. */
  sendRaw(chat: number, user: number | null, fields: Readonly<Record<string, unknown>>): Promise<number>;
  /** Delivers the last message of the chat again, as another update. */
  redeliver(chat: number): Promise<void>;
  /** Delivers any update. */
  pushUpdate(fields: Readonly<Record<string, unknown>>): Promise<void>;
  /** A person presses the button with this label. Resolves with the id of the press. */
  press(chat: number, message: number, user: number, label: string): Promise<string>;
  /** The bot's answers to presses. */
  pressAnswers(): Promise<readonly { readonly press: string; readonly text?: string }[]>;
  /** Blocks or removes the bot in the chat, or unblocks it. */
  setBotBlocked(chat: number, isOut: boolean): Promise<void>;
  /** Turns the group into a supergroup. Resolves with its new id. */
  upgrade(chat: number): Promise<number>;
  remove(chat: number, message: number): Promise<void>;
  messages(chat: number): Promise<readonly ChatMessage[]>;
  chats(): Promise<readonly number[]>;
  file(id: string): Promise<Uint8Array | undefined>;
  commands(): Promise<readonly { readonly command: string; readonly description: string }[]>;
  /** Calls of the bot, oldest first: of one method, or of all except `getUpdates`. */
  calls(method?: string): Promise<readonly BotApiCall[]>;
  /** The number of updates that the bot has not confirmed. */
  pending(): Promise<number>;
  /** Resolves when the bot has sent `count` messages to the chat. */
  untilAnswered(chat: number, count: number): Promise<void>;
  /** Resolves with the bot's first message in the chat that contains this text. */
  untilShown(chat: number, words: string): Promise<ChatMessage>;
  /** Resolves when the bot has confirmed everything and waits for more. */
  untilIdle(): Promise<void>;
  /** Resolves when the bot has called the method `count` times. */
  untilCalled(method: string, count: number): Promise<void>;
  setFaults(faults: Faults): Promise<void>;
  failNext(method: string, fault: NextFault): Promise<void>;
  /** Limits a chat to one message or edit in `everyMs`; 0: no limit. */
  setFlood(everyMs: number): Promise<void>;
  /** Sets a webhook, until the bot removes it. */
  setWebhook(isSet: boolean): Promise<void>;
}
