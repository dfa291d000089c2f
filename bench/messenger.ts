import { textPart } from "../src/core/message.ts";
import { platformTraits } from "../src/core/platforms.ts";
import type { Source } from "../src/index.ts";
import type { Agent } from "../src/ports/agent.ts";
import type { Platform, Receiver } from "../src/ports/platform.ts";
import type { Store } from "../src/ports/store.ts";

/** When what happened to a message and its answer. */
export interface Instants {
  /** The messenger brings the message, */
  said: number;
  /** it is stored, and the messenger hears so, */
  acknowledged: number;
  /** the agent is asked, */
  begun: number;
  /** has said all, */
  ended: number;
  /** the answer is given to the messenger, */
  sent: number;
  /** and that is stored. */
  settled: number;
}

/** A messenger within the process, which brings and takes at once: what is left to measure is the gateway. */
export interface Messenger {
  readonly platform: Platform;
  /** Says it in a chat where nothing is being answered. Resolves when the answer is sent and settled. */
  say(chat: number, words: string): Promise<Instants>;
  /** The same agent and store, seen by the messenger, so that it knows when each had its part. */
  watchedAgent(agent: Agent): Agent;
  watchedStore(store: Store): Store;
  /** In how many chats an answer is awaited. */
  awaited(): number;
}

export const NAME = "bench";

export function sourceOf(chat: number): Source {
  return {
    platform: NAME,
    chatType: "dm",
    chatId: `c${chat}`,
    userId: `c${chat}`,
    userName: `Person ${chat}`,
  };
}

interface Awaited {
  readonly instants: Instants;
  done(instants: Instants): void;
}

export function messenger(): Messenger {
  const awaited = new Map<string, Awaited>();
  const { promise: connected, resolve: connect } = Promise.withResolvers<Receiver>();
  let messages = 0;
  const at = (chat: string | undefined, what: keyof Instants): void => {
    const found = awaited.get(chat ?? "");
    if (found !== undefined) found.instants[what] = performance.now();
  };
  const platform: Platform = {
    name: NAME,
    account: "bench",
    traits: platformTraits(NAME),
    run(receiver, signal) {
      receiver.markConnected();
      connect(receiver);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    async send({ target }) {
      at(target.chatId, "sent");
      messages += 1;
      return { state: "sent", messageId: String(messages) };
    },
    async edit(_, messageId) {
      return { state: "sent", messageId };
    },
    async sendTyping() {},
    getDraftIntervalMs: () => 1000,
  };
  return {
    platform,
    async say(chat, words) {
      const receiver = await connected;
      const source = sourceOf(chat);
      messages += 1;
      const messageId = String(messages);
      return new Promise((done, failed) => {
        const now = performance.now();
        const instants = { said: now, acknowledged: now, begun: now, ended: now, sent: now, settled: now };
        awaited.set(source.chatId, { instants, done });
        receiver
          .receiveMessage({ source, messageId, message: { role: "user", parts: [textPart(words)] } })
          .then(() => {
            instants.acknowledged = performance.now();
          }, failed);
      });
    },
    watchedAgent: (agent) => ({
      ...agent,
      async *run(turn, signal) {
        const chat = turn.history.at(-1)?.origin?.userId;
        at(chat, "begun");
        yield* agent.run(turn, signal);
        at(chat, "ended");
      },
    }),
    watchedStore: (store) => ({
      ...store,
      outbox: {
        ...store.outbox,
        async settle(input) {
          const settled = await store.outbox.settle(input);
          if ("target" in settled) {
            const { chatId } = settled.target;
            const found = awaited.get(chatId);
            at(chatId, "settled");
            awaited.delete(chatId);
            found?.done(found.instants);
          }
          return settled;
        },
      },
    }),
    awaited: () => awaited.size,
  };
}
