import { onTestFinished } from "vitest";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { getText, textPart } from "../../src/core/message.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { localRunner, NO_RESET } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Log } from "../../src/ports/log.ts";
import type { Inbound, Outbound, Platform, Receiver } from "../../src/ports/platform.ts";
import type { Store } from "../../src/ports/store.ts";
import { findOperation } from "../../src/stores/sql/operations.ts";
import { listeners } from "../support/listeners.ts";
import { type Home, openHome } from "../support/test-home.ts";
import { wrapStore } from "../support/wrap-store.ts";

/** One write of the store, in the order of the calls. */
export interface StoreStep {
  readonly name: string;
  readonly input: unknown;
  readonly result: Promise<unknown>;
}

export interface IntakeRoom {
  readonly home: Home;
  readonly steps: readonly StoreStep[];
  /** Resolves when a step of this name is done. */
  untilStep(name: string): Promise<void>;
  /** Lets time pass, and keeps the connection alive. */
  pass(ms: number): Promise<void>;
  /** The chats whose messages were accepted, in order, each with the number of its step. */
  accepted(): readonly { readonly chat: string; readonly step: number; readonly messageId: string }[];
}

export interface IntakeRoomOptions {
  readonly home?: Home;
  readonly platform: Platform;
  readonly agent: Agent;
  readonly settings?: Partial<GatewaySettings>;
}

/** Reads and leases are not counted: reads wait for no commit, and leases depend on the clock. */
const UNCOUNTED: ReadonlySet<string> = new Set([
  "recordHeartbeat",
  "acquireLease",
  "releaseLease",
  "retire",
  "purgeFinished",
  "expireConversation",
  "claimFlush",
]);

/** A gateway in this process with a real database whose writes are counted. */
export async function intakeRoom(options: IntakeRoomOptions): Promise<IntakeRoom> {
  const { platform, agent, settings, home = await openHome() } = options;
  const steps: StoreStep[] = [];
  const changes = listeners();
  const note = (step: StoreStep): void => {
    steps.push(step);
    changes.tell();
  };
  const none = (): void => {};
  const log: Log = { debug: none, info: none, warn: none, error: none };
  const used: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: { default: NO_RESET, byType: {}, byPlatform: {} },
    scope: {},
    privacy: {},
    access: { everywhere: {}, platforms: {} },
    busy: "interrupt",
    maxPending: 100,
    turnMinutes: 10,
    streaming: false,
    personalities: {},
    homes: [],
    tools: DEFAULT_TOOLS,
    memory: { enabled: true, flush: true },
    ...settings,
  };
  let up: Receiver | undefined;
  const watched: Platform = {
    ...platform,
    run(receiver, signal) {
      up = receiver;
      return platform.run(receiver, signal);
    },
  };
  const gateway = await startGateway({
    store: counted(home.store, note),
    runner: localRunner(),
    clock: home.clock,
    platforms: [watched],
    settings: () => used,
    agent: () => agent,
    log,
  });
  onTestFinished(() => gateway.stop());
  return {
    home,
    steps,
    accepted: () => steps.flatMap(takenIn),
    async untilStep(name) {
      const step = await changes.until(() => steps.find((one) => one.name === name));
      await step.result;
    },
    async pass(ms) {
      home.clock.pass(ms);
      up?.markConnected();
      const isHeld = async (): Promise<boolean> =>
        (await home.store.runners.listLeases({ now: home.clock.now() })).length > 0;
      while (!(await isHeld())) await new Promise(setImmediate);
    },
  };
}

/** An in-memory messenger. */
export interface MemoryMessenger {
  readonly platform: Platform;
  /** Resolves when the gateway is connected. */
  readonly receiver: Promise<Receiver>;
  /** The messages to the chat, as soon as there are this many. */
  sent(chat: string, count: number): Promise<readonly string[]>;
  /** A direct message with the cursor after it. */
  message(chat: string, words: string): Inbound;
}

export function memoryMessenger(): MemoryMessenger {
  const up = Promise.withResolvers<Receiver>();
  const sent: Outbound[] = [];
  const changes = listeners();
  let ids = 0;
  return {
    receiver: up.promise,
    platform: {
      name: "telegram",
      account: "1",
      traits: platformTraits("telegram"),
      run: (receiver, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve());
          receiver.markConnected();
          up.resolve(receiver);
        }),
      async send(out) {
        sent.push(out);
        changes.tell();
        return { state: "sent", messageId: `bot-${sent.length}` };
      },
    },
    sent: (chat, count) =>
      changes.until(() => {
        const here = sent.filter(({ target }) => target.chatId === chat).map(getText);
        return here.length >= count ? here : undefined;
      }),
    message(chat, words) {
      ids += 1;
      return {
        source: { platform: "telegram", chatType: "dm", chatId: chat, userId: chat },
        messageId: String(ids),
        message: { role: "user", parts: [textPart(words)] },
        cursor: { name: "memory", value: String(ids) },
      };
    },
  };
}

interface Taken {
  readonly source: { readonly chatId: string };
  readonly messageId: string;
}

function takenIn({ name, input }: StoreStep, step: number) {
  const messages =
    name === "acceptMany"
      ? (input as { readonly messages: readonly Taken[] }).messages
      : name === "accept" || name === "acceptCommand"
        ? [input as Taken]
        : [];
  return messages.map(({ source, messageId }) => ({ chat: source.chatId, step, messageId }));
}

/** The same store; every write is recorded when it is called. */
function counted(store: Store, note: (step: StoreStep) => void): Store {
  return wrapStore(store, ({ name, input, run }) => {
    const result = run();
    if (isWrite(name)) note({ name, input, result });
    return result;
  });
}

function isWrite(name: string): boolean {
  return findOperation(name).kind.endsWith("rite") && !UNCOUNTED.has(name);
}
