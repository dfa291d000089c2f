/** What a test may see and do at the fake. Everything can be sent as JSON, so that the fake may be another process. */

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
  /** What is read, after formatting. */
  readonly text: string;
  /** As the bot has sent it, where it was formatted. */
  readonly html?: string;
  /** What stood there before, oldest first. */
  readonly edits: readonly string[];
  readonly buttons: readonly (readonly {
    readonly label: string;
    readonly data?: string;
    readonly copies?: string;
  }[])[];
  readonly files: readonly FakeFile[];
  readonly replyTo?: number;
  readonly topic?: number;
  /** Of the bot's messages: which album they belong to. */
  readonly album?: string;
  readonly at: number;
}

export interface SayOptions {
  readonly topic?: number;
  readonly replyTo?: number;
  /** The part of the other message that is quoted. */
  readonly quote?: string;
}

export interface FileOptions extends SayOptions {
  readonly caption?: string;
  readonly kind?: FileKind;
  readonly name?: string;
  readonly mimeType?: string;
  /** What Telegram says of its size, if not the truth. */
  readonly claimedSize?: number;
  /** Parts with the same group are one album. */
  readonly group?: string;
}

export interface AlbumOptions extends SayOptions {
  /** Further parts of the same album may follow with the same name. */
  readonly group?: string;
}

export interface GroupOptions {
  readonly title: string;
  readonly kind?: "group" | "supergroup";
  readonly forum?: boolean;
}

/** One call of the bot that was heard, with what it said. */
export interface BotApiCall {
  readonly method: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
  /** It was done, and nobody learnt of it. */
  readonly isDropped?: true;
  /** The error code with which it was answered. */
  readonly refused?: number;
}

/** How likely each mishap is, from 0 to 1. */
export interface Faults {
  readonly seed?: number;
  /** What people do arrives twice, the second time as another update. */
  readonly duplicateUpdates?: number;
  /** A call is done and then the connection is cut, so that nobody learns of it. */
  readonly dropAfter?: number;
  /** The same, but only where a message is sent or edited. */
  readonly dropSends?: number;
  /** The connection is cut before anything is done. */
  readonly cut?: number;
  /** A page of a broken gateway instead of an answer; nothing is done. */
  readonly badGateway?: number;
  /** Every call takes up to this long. */
  readonly delayMs?: number;
}

/** What happens to the next call of a method. */
export type NextFault =
  | { readonly kind: "dropAfter" | "cut" | "badGateway" }
  /** Nothing is said for as long as the connection lasts; with `after`, once it is done. */
  | { readonly kind: "hang"; readonly after?: boolean }
  | {
      readonly kind: "error";
      readonly code: number;
      readonly description: string;
      readonly parameters?: Readonly<Record<string, number>>;
    };

export interface FakeControls {
  addUser(user: FakeUser): Promise<void>;
  /** A direct chat with the bot; its id is the user's. */
  openDm(user: number): Promise<number>;
  openGroup(options: GroupOptions): Promise<number>;
  openChannel(title: string): Promise<number>;
  openTopic(chat: number, name: string): Promise<number>;
  deleteTopic(chat: number, topic: number): Promise<void>;
  /** A person says something, or, without one, a channel does. Resolves with the message's id. */
  say(chat: number, user: number | null, text: string, options?: SayOptions): Promise<number>;
  /** Many texts at once, in their order. */
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
  /** A message with any fields of the Bot API: a sticker, a place, a service message. */
  sendRaw(chat: number, user: number | null, fields: Readonly<Record<string, unknown>>): Promise<number>;
  /** What was last said in the chat arrives again, as another update. */
  redeliver(chat: number): Promise<void>;
  /** Any update. */
  pushUpdate(fields: Readonly<Record<string, unknown>>): Promise<void>;
  /** A person presses the button with this label. Resolves with the press's id. */
  press(chat: number, message: number, user: number, label: string): Promise<string>;
  /** The answers that presses got. */
  pressAnswers(): Promise<readonly { readonly press: string; readonly text?: string }[]>;
  /** The bot may not write there any more: it was blocked or thrown out; or may again. */
  setBotBlocked(chat: number, isOut: boolean): Promise<void>;
  /** The group becomes a supergroup. Resolves with its new id. */
  upgrade(chat: number): Promise<number>;
  remove(chat: number, message: number): Promise<void>;
  messages(chat: number): Promise<readonly ChatMessage[]>;
  chats(): Promise<readonly number[]>;
  file(id: string): Promise<Uint8Array | undefined>;
  commands(): Promise<readonly { readonly command: string; readonly description: string }[]>;
  /** Calls of the bot since the start, oldest first, of one method or of all but asking for updates. */
  calls(method?: string): Promise<readonly BotApiCall[]>;
  /** Updates that the bot has not confirmed. */
  pending(): Promise<number>;
  /** Resolves when the bot has sent so many messages to the chat. */
  untilAnswered(chat: number, count: number): Promise<void>;
  /** Resolves with the first message of the bot in the chat in which these words stand, once there is one. */
  untilShown(chat: number, words: string): Promise<ChatMessage>;
  /** Resolves when the bot has confirmed everything and waits for more. */
  untilIdle(): Promise<void>;
  /** Resolves when the bot has called the method so often. */
  untilCalled(method: string, count: number): Promise<void>;
  setFaults(faults: Faults): Promise<void>;
  failNext(method: string, fault: NextFault): Promise<void>;
  /** A chat takes one message or edit in so many milliseconds; 0: any number. */
  setFlood(everyMs: number): Promise<void>;
  /** Another program receives by webhook, until the bot removes it. */
  setWebhook(isSet: boolean): Promise<void>;
}
