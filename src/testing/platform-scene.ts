import assert from "node:assert/strict";
import { textPart } from "../core/message.ts";
import type { Source } from "../core/source.ts";
import type { Inbound, Outbound, Platform, Receiver } from "../ports/platform.ts";
import type { TestApi } from "./scene.ts";
import { createTestBody } from "./skip-rule.ts";

/** Provides the platforms under test and control over their server. */
export interface PlatformHarness {
  /** Opens a new server, or one without data. */
  open(): Promise<PlatformServer>;
  /** Called after each test. */
  destroy(): Promise<void>;
  /** The time limit of a test. Default ten seconds. */
  readonly timeoutMs?: number;
}

/** The server and its users. Without an optional method, the rules that need it are skipped. */
export interface PlatformServer {
  /** A new connection with the same account, as after a restart. */
  platform(): Platform;
  /** A platform with credentials that the server rejects. */
  unauthorizedPlatform(): Platform;
  /** A platform whose server is unreachable. */
  unreachablePlatform(): Platform;
  /** Texts that no error and no reason may contain: tokens, and URLs with a token. */
  readonly secrets: readonly string[];
  /**
   * The chats, as the platform must report them: at least two, and all kinds that the platform supports (direct chat, group,
   * thread). The account can send to the first one.
   */
  readonly chats: readonly Source[];
  /** The person of this chat sends a message. Resolves with its id when the server has it. */
  say(chat: Source, text: string): Promise<string>;
  editMessage?(chat: Source, messageId: string, text: string): Promise<void>;
  /** The person deletes the message, and the server reports that to the platform. */
  deleteMessage?(chat: Source, messageId: string): Promise<void>;
  /** Deletes the message without a report to the platform. */
  removeSilently?(chat: Source, messageId: string): Promise<void>;
  /** Presses the button with this line. */
  press?(chat: Source, messageId: string, line: string): Promise<void>;
  /** Delivers the last message of this chat a second time. */
  redeliver?(chat: Source): Promise<void>;
  /** The messages that the account under test sent to the chat, in order, in their current form. */
  listSent(chat: Source): Promise<readonly SentMessage[]>;
  /** Sets the fault of the next message that is sent or edited. One of `supportedFaults`. */
  injectFault(kind: ServerFault): Promise<void>;
  readonly supportedFaults: readonly ServerFault["kind"][];
}

export interface SentMessage {
  readonly messageId: string;
  readonly text: string;
  readonly replyTo?: string;
  /** The bytes of its files, as base64. */
  readonly files?: readonly string[];
}

export type ServerFault =
  /** Rejects the message permanently. */
  | { readonly kind: "refuse" }
  /** Rejects the message and asks to wait. */
  | { readonly kind: "wait"; readonly ms: number }
  /** Is down: rejects every message. */
  | { readonly kind: "fail" }
  /** Answers this message with a temporary error. Other messages succeed. */
  | { readonly kind: "error" }
  /** Accepts the message, and the connection breaks before the answer. */
  | { readonly kind: "cut" }
  /** Accepts the message and never answers. */
  | { readonly kind: "silence" };

/** A call of a receiver. */
export type ReceivedEvent =
  | ({ readonly kind: "message" } & Inbound)
  | ({ readonly kind: "edited" } & Parameters<Receiver["receiveEdit"]>[0])
  | ({ readonly kind: "deleted" } & Parameters<Receiver["receiveDeletion"]>[0])
  | ({ readonly kind: "pressed" } & Parameters<Receiver["receivePress"]>[0]);

/** A running platform with its receiver. */
export interface PlatformListener {
  /** All received events in order, stored or not. */
  readonly events: readonly ReceivedEvent[];
  /** Waits for this many events. */
  until(count: number): Promise<readonly ReceivedEvent[]>;
  readonly connected: Promise<void>;
  /** The result of `run`. Never rejects. */
  readonly ended: Promise<{ readonly error?: unknown }>;
  /** Aborts, and waits for the end of `run`. */
  stop(): Promise<{ readonly error?: unknown }>;
}

/** The stored cursors. They survive a crash. */
export type CursorValues = Map<string, string>;

/** Listeners to stop at the end of a test. */
const runningListeners = new WeakMap<object, (() => Promise<unknown>)[]>();

/** Runs a platform. An event counts as stored when the promise of `store` resolves. */
export function startListener(
  server: object,
  platform: Platform,
  cursors: CursorValues,
  store: (event: ReceivedEvent) => Promise<void> | void = () => {},
): PlatformListener {
  const events: ReceivedEvent[] = [];
  const checks = new Set<() => void>();
  const stopping = new AbortController();
  let connect = (): void => {};
  const connected = new Promise<void>((resolve) => {
    connect = resolve;
  });
  async function receive(event: ReceivedEvent): Promise<void> {
    events.push(event);
    for (const check of [...checks]) check();
    await store(event);
    if (event.cursor !== undefined) cursors.set(event.cursor.name, event.cursor.value);
  }
  const receiver: Receiver = {
    canSpeak: async () => true,
    receiveMessage: (inbound) => receive({ kind: "message", ...inbound }),
    receiveEdit: (inbound) => receive({ kind: "edited", ...inbound }),
    receiveDeletion: (deletion) => receive({ kind: "deleted", ...deletion }),
    receivePress: (press) => receive({ kind: "pressed", ...press }),
    markConnected: () => connect(),
    getCursor: async (name) => cursors.get(name),
  };
  const ended = platform.run(receiver, stopping.signal).then(
    (): { error?: unknown } => ({}),
    (error: unknown) => ({ error }),
  );
  const stop = (): typeof ended => {
    stopping.abort();
    return ended;
  };
  runningListeners.set(server, [...(runningListeners.get(server) ?? []), stop]);
  return {
    events,
    connected,
    ended,
    until(count) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          if (events.length < count) return;
          checks.delete(check);
          resolve(events.slice(0, count));
        };
        checks.add(check);
        check();
        void ended.then(({ error }) => {
          if (events.length < count)
            reject(new Error(`run ended after ${events.length} of ${count} events`, { cause: error }));
        });
      });
    },
    stop,
  };
}

let nonces = 0;

/** A message to a chat, with a unique nonce. */
export function createOutbound(target: Source, text: string, more: Partial<Outbound> = {}): Outbound {
  nonces += 1;
  return {
    target,
    parts: [textPart(text)],
    nonce: `nonce-${nonces}`,
    blob: () => Promise.resolve(undefined),
    ...more,
  };
}

/** A signal that never aborts. */
export function createPlatformSignal(): AbortSignal {
  return new AbortController().signal;
}

export function assertSecretFree(failure: unknown, secrets: readonly string[]): void {
  const texts: string[] = [];
  for (
    let error = failure;
    error !== undefined && error !== null;
    error = (error as { cause?: unknown }).cause
  )
    texts.push(
      error instanceof Error
        ? `${error.message} ${error.stack} ${JSON.stringify(error)}`
        : JSON.stringify(error),
    );
  for (const secret of secrets)
    assert.ok(!texts.join("\n").includes(secret), "the failure contains a secret");
}

/** One rule of the port and its test, on a separate server. */
export type PlatformRule = (promise: string, proof: (server: PlatformServer) => Promise<void>) => void;

export function createPlatformRule({ it }: TestApi, harness: PlatformHarness): PlatformRule {
  return (promise, proof) => {
    const run = async (): Promise<void> => {
      const server = await harness.open();
      try {
        await failAfter(harness.timeoutMs ?? 10_000, proof(server));
      } finally {
        for (const stop of runningListeners.get(server) ?? []) void stop();
        await harness.destroy();
      }
    };
    it(promise, createTestBody(promise, run));
  };
}

async function failAfter<T>(ms: number, proof: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`the test did not finish within ${ms} ms`);
    timer = setTimeout(reject, ms, error);
  });
  try {
    return await Promise.race([proof, late]);
  } finally {
    clearTimeout(timer);
    proof.catch(() => {}); // a failure after the time limit is ignored
  }
}
