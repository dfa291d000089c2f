import { type Random, seeded } from "../support/random.ts";
import {
  type ChatPlace,
  type EditRequest,
  type Fault,
  type FaultyRequest,
  type FileJson,
  type MessengerOptions,
  type PlannedFault,
  type SendRequest,
  STUCK,
  type Update,
  type Without,
  type Witnessed,
} from "./protocol.ts";

/** The bot's account in updates. */
export const BOT = "bot";

const LATEST_MS = 60;

interface Chat {
  readonly type: ChatPlace["type"];
  readonly members: Set<string>;
  readonly messages: Map<string, { from: string; thread?: string; at: number; text: string }>;
  last: number;
}

/** The state of a messenger with people and one bot, without HTTP. */
export interface Messenger {
  /** All events so far. */
  readonly witnessed: readonly Witnessed[];
  witness(what: Without<Witnessed, "seq" | "at">): void;
  /** Calls back after every event; returns a function that stops it. */
  onWitnessed(listener: () => void): () => void;
  say(place: ChatPlace & { person: string; text: string; files?: readonly FileJson[] }): {
    messageId: string;
  };
  change(what: { chat: string; messageId: string; text?: string }): void;
  press(what: { chat: string; messageId: string; person: string; line: string }): void;
  /** Redelivers the last update of this chat with another number. */
  bringAgain(chat: string): void;
  /** The pending updates from this number on; all earlier ones are confirmed. */
  updates(offset: number): readonly Update[];
  onUpdate(listener: () => void): () => void;
  /** `undefined` in a chat without messages. */
  send(request: SendRequest): { messageId: string } | undefined;
  edit(request: EditRequest): { messageId: string } | undefined;
  lookUp(nonce: string): { messageId: string } | undefined;
  plan(fault: PlannedFault): void;
  /** The fault of a request; planned faults come before random ones. */
  faultOf(on: FaultyRequest, chat?: string, text?: string): Fault | undefined;
  /** Replaces or removes the random faults. */
  chances(chances: MessengerOptions["chances"]): void;
}

export function messenger(options: MessengerOptions): Messenger {
  const chats = new Map<string, Chat>();
  const witnessed: Witnessed[] = [];
  const planned: PlannedFault[] = [];
  const listeners = new Set<() => void>();
  const updateListeners = new Set<() => void>();
  let waiting: Update[] = [];
  const latest = new Map<string, Update>();
  const nonces = new Map<string, string>();
  let updateNumber = 0;
  let presses = 0;
  let chances = options.chances;
  let random: Random = seeded(chances?.seed ?? 0);
  const happens = (chance: number | undefined): boolean =>
    chance !== undefined && chance > 0 && random.next() < chance;

  function witness(what: Without<Witnessed, "seq" | "at">): void {
    witnessed.push({ seq: witnessed.length + 1, at: Date.now(), ...what } as Witnessed);
    for (const listener of [...listeners]) listener();
  }

  function chatOf({ chat, type }: Pick<ChatPlace, "chat" | "type">): Chat {
    const made = chats.get(chat) ?? { type, members: new Set(), messages: new Map(), last: 0 };
    chats.set(chat, made);
    return made;
  }

  function existing(name: string): Chat {
    const chat = chats.get(name);
    if (chat === undefined) throw new Error(`there is no chat ${name}`);
    return chat;
  }

  function put(update: Without<Update, "id">): void {
    updateNumber += 1;
    const numbered = { ...update, id: updateNumber } as Update;
    waiting.push(numbered);
    latest.set(update.chat, numbered);
    for (const listener of [...updateListeners]) listener();
  }

  function publish(update: Without<Update, "id">): void {
    if (happens(chances?.late)) setTimeout(put, random.between(1, LATEST_MS), update);
    else put(update);
    if (happens(chances?.duplicate)) setTimeout(put, random.between(1, LATEST_MS), update);
  }

  function store(chat: Chat, message: { from: string; thread?: string; text: string }): string {
    chat.last += 1;
    const id = String(chat.last);
    chat.messages.set(id, { ...message, at: Date.now() });
    return id;
  }

  function byNonce(nonce: string): { messageId: string } | undefined {
    const messageId = nonces.get(nonce);
    return messageId === undefined ? undefined : { messageId };
  }

  function messageIn(name: string, messageId: string) {
    const chat = existing(name);
    const message = chat.messages.get(messageId);
    if (message === undefined) throw new Error(`there is no message ${messageId} in ${name}`);
    const place: ChatPlace = {
      chat: name,
      type: chat.type,
      ...(message.thread !== undefined && { thread: message.thread }),
    };
    return { chat, message, place };
  }

  return {
    witnessed,
    witness,
    onWitnessed: (listener) => listen(listeners, listener),
    say({ chat: name, type, thread, person, text, files }) {
      const chat = chatOf({ chat: name, type });
      chat.members.add(person);
      const place: ChatPlace = { chat: name, type, ...(thread !== undefined && { thread }) };
      const messageId = store(chat, { from: person, text, ...(thread !== undefined && { thread }) });
      witness({ kind: "said", ...place, person, messageId, text });
      const more = files === undefined ? {} : { files };
      publish({ kind: "message", ...place, from: person, messageId, at: Date.now(), text, ...more });
      return { messageId };
    },
    change({ chat: name, messageId, text }) {
      const { chat, message, place } = messageIn(name, messageId);
      witness({ kind: "changed", chat: name, messageId, ...(text !== undefined && { text }) });
      const about = { ...place, from: message.from, messageId, at: Date.now() };
      if (text === undefined) {
        chat.messages.delete(messageId);
        publish({ kind: "deleted", ...about });
      } else {
        message.text = text;
        publish({ kind: "edited", ...about, text, saidAt: message.at });
      }
    },
    press({ chat, messageId, person, line }) {
      const { place } = messageIn(chat, messageId);
      presses += 1;
      const press = `press-${presses}`;
      publish({ kind: "pressed", ...place, from: person, messageId, at: Date.now(), press, line });
    },
    bringAgain(chat) {
      const last = latest.get(chat);
      if (last === undefined) throw new Error(`nothing was brought from ${chat}`);
      put(last);
    },
    updates(offset) {
      waiting = waiting.filter(({ id }) => id >= offset);
      return waiting;
    },
    onUpdate: (listener) => listen(updateListeners, listener),
    send(request) {
      const chat = chats.get(request.chat);
      if (chat === undefined) return undefined;
      const earlier = options.idempotent ? byNonce(request.nonce) : undefined;
      if (earlier !== undefined) {
        witness({ kind: "recognised", chat: request.chat, nonce: request.nonce, ...earlier });
        return earlier;
      }
      const { text, nonce, thread } = request;
      const messageId = store(chat, { from: BOT, text, ...(thread !== undefined && { thread }) });
      nonces.set(nonce, messageId);
      witness({ kind: "sent", ...request, messageId, members: [...chat.members] });
      const place: ChatPlace = {
        chat: request.chat,
        type: chat.type,
        ...(thread !== undefined && { thread }),
      };
      if (options.echoes) publish({ kind: "message", ...place, from: BOT, messageId, at: Date.now(), text });
      return { messageId };
    },
    edit(request) {
      const message = chats.get(request.chat)?.messages.get(request.messageId);
      if (message === undefined || message.from !== BOT) return undefined;
      if (message.text !== request.text || request.buttons !== undefined)
        witness({ kind: "edited", ...request });
      message.text = request.text;
      return { messageId: request.messageId };
    },
    lookUp: byNonce,
    plan: (fault) => void planned.push(fault),
    faultOf(on, chat, text = "") {
      if (options.stuck && text.includes(STUCK)) return { kind: "error" };
      const at = planned.findIndex(
        (plan) => plan.on === on && (plan.chat === undefined || plan.chat === chat),
      );
      const fault = at >= 0 ? planned.splice(at, 1)[0]?.fault : byChance(on);
      if (fault !== undefined && fault.kind !== "delay")
        witness({ kind: "fault", on, fault: fault.kind, ...(chat !== undefined && { chat }) });
      return fault;
    },
    chances(others) {
      chances = others;
      random = seeded(others?.seed ?? 0);
    },
  };

  function byChance(on: FaultyRequest): Fault | undefined {
    for (const [kind, chance] of Object.entries(chances?.[on] ?? {}) as [Fault["kind"], number][]) {
      if (!happens(chance)) continue;
      return kind === "delay" || kind === "wait" ? { kind, ms: random.between(1, LATEST_MS) } : { kind };
    }
    return undefined;
  }
}

function listen(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
