import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Inbound, Outbound, Platform, Receiver } from "../ports/platform.ts";
import type { TestApi } from "./scene.ts";
import { createTestBody } from "./skip-rule.ts";

/** How the suite gets platforms of the kind under test, and a hand on the other side. */
export interface PlatformHarness {
  /** A server of its own, or one that has forgotten everything, each time. */
  open(): Promise<PlatformServer>;
  /** Called after each test. */
  destroy(): Promise<void>;
  /** How long a test may take before what has not come counts as missing. Default ten seconds. */
  readonly timeoutMs?: number;
}

/** The server and the people behind it. What is optional is what not every platform has; its rules are then skipped. */
export interface PlatformServer {
  /** A new connection as the same account, as after a restart. */
  platform(): Platform;
  /** One with credentials that the server does not accept. */
  unauthorizedPlatform(): Platform;
  /** One whose server nobody can reach. */
  unreachablePlatform(): Platform;
  /** What may stand in no error and no reason: tokens, and addresses that hold one. */
  readonly secrets: readonly string[];
  /**
   * Where people speak, as the platform must tell it: at least two chats, in the first of which it may be answered. Every
   * kind that the platform knows: a direct chat, a group, a thread.
   */
  readonly chats: readonly Source[];
  /** The person of this place says it there. Resolves, when it waits to be received, with the platform's id of it. */
  say(place: Source, words: string): Promise<string>;
  editMessage?(place: Source, messageId: string, words: string): Promise<void>;
  /** The person deletes it, and the platform is told of that. */
  deleteMessage?(place: Source, messageId: string): Promise<void>;
  /** The message is no longer there, where nobody tells the platform of that. */
  removeSilently?(place: Source, messageId: string): Promise<void>;
  /** Presses the button that stands for this line. */
  press?(place: Source, messageId: string, line: string): Promise<void>;
  /** What was last said in this place is brought a second time. */
  redeliver?(place: Source): Promise<void>;
  /** What the account under test has sent there, in order, as a person reads it now. */
  listSent(place: Source): Promise<readonly SentMessage[]>;
  /** What the server does with the next message that is sent or edited. Which of them it can do is in `troubles`. */
  injectFault(kind: ServerFault): Promise<void>;
  readonly supportedFaults: readonly ServerFault["kind"][];
}

export interface SentMessage {
  readonly messageId: string;
  readonly text: string;
  readonly replyTo?: string;
  /** The bytes of the files that came with it, as base64. */
  readonly files?: readonly string[];
}

export type ServerFault =
  /** It does not want it, and would not later. */
  | { readonly kind: "refuse" }
  /** It asks to wait. */
  | { readonly kind: "wait"; readonly ms: number }
  /** It has a problem of its own and takes nothing. */
  | { readonly kind: "fail" }
  /** It answers this one message with an error that may pass; others would go. */
  | { readonly kind: "error" }
  /** It takes the message, and the connection breaks before it has said so. */
  | { readonly kind: "cut" }
  /** It takes the message, and says nothing for as long as the connection lasts. */
  | { readonly kind: "silence" };

/** What a receiver was given, and by which of its methods. */
export type ReceivedEvent =
  | ({ readonly kind: "message" } & Inbound)
  | ({ readonly kind: "edited" } & Parameters<Receiver["receiveEdit"]>[0])
  | ({ readonly kind: "deleted" } & Parameters<Receiver["receiveDeletion"]>[0])
  | ({ readonly kind: "pressed" } & Parameters<Receiver["receivePress"]>[0]);

/** A running platform and the receiver that listens to it. */
export interface PlatformListener {
  /** What has arrived, in order, stored or not. */
  readonly events: readonly ReceivedEvent[];
  /** Waits for so many. */
  until(count: number): Promise<readonly ReceivedEvent[]>;
  readonly connected: Promise<void>;
  /** How `run` ended; it never rejects. */
  readonly ended: Promise<{ readonly error?: unknown }>;
  /** Aborts, and waits until it has ended. */
  stop(): Promise<{ readonly error?: unknown }>;
}

/** What stays when a process falls: cursors that were stored. */
export type CursorValues = Map<string, string>;

/** What is to be stopped at the end of a test, however it ends. */
const runningListeners = new WeakMap<object, (() => Promise<unknown>)[]>();

/** Runs a platform. `store` says when something is stored: what it returns is waited for. */
export function startListener(
  there: object,
  platform: Platform,
  cursors: CursorValues,
  store: (heard: ReceivedEvent) => Promise<void> | void = () => {},
): PlatformListener {
  const heard: ReceivedEvent[] = [];
  const looks = new Set<() => void>();
  const leaving = new AbortController();
  let connect = (): void => {};
  const connected = new Promise<void>((resolve) => {
    connect = resolve;
  });
  async function take(one: ReceivedEvent): Promise<void> {
    heard.push(one);
    for (const look of [...looks]) look();
    await store(one);
    if (one.cursor !== undefined) cursors.set(one.cursor.name, one.cursor.value);
  }
  const receiver: Receiver = {
    canSpeak: async () => true,
    receiveMessage: (inbound) => take({ kind: "message", ...inbound }),
    receiveEdit: (inbound) => take({ kind: "edited", ...inbound }),
    receiveDeletion: (withdrawn) => take({ kind: "deleted", ...withdrawn }),
    receivePress: (press) => take({ kind: "pressed", ...press }),
    markConnected: () => connect(),
    getCursor: async (name) => cursors.get(name),
  };
  const ended = platform.run(receiver, leaving.signal).then(
    (): { error?: unknown } => ({}),
    (error: unknown) => ({ error }),
  );
  const stop = (): typeof ended => {
    leaving.abort();
    return ended;
  };
  runningListeners.set(there, [...(runningListeners.get(there) ?? []), stop]);
  return {
    events: heard,
    connected,
    ended,
    until(count) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (heard.length < count) return;
          looks.delete(look);
          resolve(heard.slice(0, count));
        };
        looks.add(look);
        look();
        void ended.then(({ error }) => {
          if (heard.length < count)
            reject(new Error(`run ended after ${heard.length} of ${count}`, { cause: error }));
        });
      });
    },
    stop,
  };
}

let nonces = 0;

/** A message to a place; every one has a nonce of its own. */
export function createOutbound(target: Source, words: string, more: Partial<Outbound> = {}): Outbound {
  nonces += 1;
  return {
    target,
    parts: [textPart(words)],
    nonce: `nonce-${nonces}`,
    blob: () => Promise.resolve(undefined),
    ...more,
  };
}

/** Never aborts. */
export function createPlatformSignal(): AbortSignal {
  return new AbortController().signal;
}

export function assertSecretFree(said: unknown, secrets: readonly string[]): void {
  const words: string[] = [];
  for (let error = said; error !== undefined && error !== null; error = (error as { cause?: unknown }).cause)
    words.push(
      error instanceof Error
        ? `${error.message} ${error.stack} ${JSON.stringify(error)}`
        : JSON.stringify(error),
    );
  for (const secret of secrets)
    assert.ok(!words.join("\n").includes(secret), "a secret stands in what is told of a failure");
}

/** One promise of the port and the proof of it, at a server of its own. */
export type PlatformRule = (promise: string, proof: (there: PlatformServer) => Promise<void>) => void;

export function createPlatformRule({ it }: TestApi, harness: PlatformHarness): PlatformRule {
  return (promise, proof) => {
    const run = async (): Promise<void> => {
      const there = await harness.open();
      try {
        await failAfter(harness.timeoutMs ?? 10_000, proof(there));
      } finally {
        for (const stop of runningListeners.get(there) ?? []) void stop();
        await harness.destroy();
      }
    };
    it(promise, createTestBody(promise, run));
  };
}

async function failAfter<T>(ms: number, proof: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`something that had to come did not come within ${ms} ms`);
    timer = setTimeout(reject, ms, error);
  });
  try {
    return await Promise.race([proof, late]);
  } finally {
    clearTimeout(timer);
    proof.catch(() => {}); // it may still fail, and was judged already
  }
}
