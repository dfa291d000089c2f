import { createHash } from "node:crypto";
import { onTestFinished } from "vitest";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { type Part, textPart } from "../../src/core/message.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import { type Gateway, startGateway } from "../../src/gateway/gateway.ts";
import type { HookContext, HookEvent } from "../../src/gateway/hooks.ts";
import { DEFAULT_RESET_POLICY, getText, localRunner, type Source } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { LogFields } from "../../src/ports/log.ts";
import type { Outbound, Platform, Receiver, SendOutcome } from "../../src/ports/platform.ts";
import type { ToolHost } from "../../src/turns/build-tools.ts";
import { listeners } from "./listeners.ts";
import { type Home, openHome } from "./test-home.ts";

export interface Chat {
  /** Sends the text, and resolves when it is stored. */
  say(words: string): Promise<void>;
  /** Sends a picture, with or without a text. */
  show(bytes: string, words?: string): Promise<void>;
  press(line: string): Promise<void>;
  /** The bot's messages in this chat, as soon as there are `count`. */
  sent(count: number): Promise<readonly Outbound[]>;
  /** Their texts. */
  texts(count: number): Promise<readonly string[]>;
}

export interface GatewayRoom {
  readonly home: Home;
  readonly gateway: Gateway;
  /** The events that hooks received, in order. */
  readonly told: readonly (readonly [HookEvent, HookContext])[];
  /** Resolves when hooks received this event `count` times. */
  untilTold(event: HookEvent, count?: number): Promise<readonly HookContext[]>;
  /** The errors in the gateway's log. */
  readonly errors: readonly (readonly [words: string, fields: LogFields])[];
  chat(source: Source): Chat;
  /** Lets time pass, and keeps the connection alive. */
  pass(ms: number): Promise<void>;
  /** The receiver of the messenger. */
  readonly receiver: Receiver;
}

export interface GatewayRoomOptions {
  readonly agent: Agent;
  /** The tools of the agents; without it they have none. */
  readonly equipment?: ToolHost;
  readonly settings?: Partial<GatewaySettings>;
  readonly home?: Home;
  /** The outcome of a rejected attempt. `undefined`, the default: the messenger accepts it. */
  readonly rejects?: (out: Outbound) => Exclude<SendOutcome, { state: "sent" }> | undefined;
}

/** A gateway in this process with a real database and an in-memory messenger. */
export async function gatewayRoom(options: GatewayRoomOptions): Promise<GatewayRoom> {
  const home = options.home ?? (await openHome());
  const { store, clock } = home;
  const sent: Outbound[] = [];
  const told: [HookEvent, HookContext][] = [];
  const changes = listeners();
  const up = Promise.withResolvers<Receiver>();
  let ids = 0;

  const platform: Platform = {
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
      const rejected = options.rejects?.(out);
      if (rejected !== undefined) return rejected;
      sent.push(out);
      changes.tell();
      return { state: "sent", messageId: `bot-${sent.length}` };
    },
  };
  const settings: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: { default: DEFAULT_RESET_POLICY, byType: {}, byPlatform: {} },
    scope: {},
    privacy: {},
    access: { everywhere: { allowAll: true }, platforms: {} },
    busy: "interrupt",
    maxPending: 100,
    turnMinutes: 10,
    streaming: false,
    personalities: {},
    homes: [],
    tools: DEFAULT_TOOLS,
    memory: { enabled: true, flush: true },
    ...options.settings,
  };
  const nothing = (): void => {};
  const errors: [string, LogFields][] = [];
  const over = new AbortController();
  const gateway = await startGateway({
    ...(options.equipment !== undefined && { toolHost: options.equipment }),
    store,
    runner: localRunner(),
    clock,
    platforms: [platform],
    settings: () => settings,
    agent: () => ended(options.agent, over.signal),
    log: {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (fields, words) => errors.push([words, fields]),
    },
    hooks: [
      {
        name: "listener",
        events: ["*"],
        handle: (event, context) => {
          told.push([event, context]);
          changes.tell();
        },
      },
    ],
  });
  onTestFinished(() => {
    over.abort();
    return gateway.stop();
  });
  const receiver = await up.promise;

  return {
    home,
    gateway,
    told,
    errors,
    untilTold: (event, count = 1) =>
      changes.until(() => {
        const heard = told.flatMap(([name, context]) => (name === event ? [context] : []));
        return heard.length >= count ? heard : undefined;
      }),
    receiver,
    async pass(ms) {
      clock.pass(ms);
      receiver.markConnected();
      const isHeld = async (): Promise<boolean> =>
        (await store.runners.listLeases({ now: clock.now() })).length > 0;
      while (!(await isHeld())) await new Promise(setImmediate);
    },
    chat(source) {
      const next = () => {
        ids += 1;
        return { source, messageId: String(ids) };
      };
      const here = ({ target }: Outbound): boolean =>
        target.chatId === source.chatId && target.threadId === source.threadId;
      const sentHere = (count: number): Promise<readonly Outbound[]> =>
        changes.until(() => {
          const found = sent.filter(here);
          return found.length >= count ? found : undefined;
        });
      return {
        say: (words) =>
          receiver.receiveMessage({ ...next(), message: { role: "user", parts: [textPart(words)] } }),
        show(given, words) {
          const bytes = new TextEncoder().encode(given);
          const blob = createHash("sha256").update(bytes).digest("hex");
          const image: Part = { type: "image", blob, mimeType: "image/png", size: bytes.byteLength };
          const parts = words === undefined ? [image] : [textPart(words), image];
          const message = { role: "user", parts } as const;
          return receiver.receiveMessage({ ...next(), message, blobs: [{ hash: blob, bytes }] });
        },
        press: (line) => receiver.receivePress({ ...next(), line }),
        sent: sentHere,
        texts: async (count) => (await sentHere(count)).map(getText),
      };
    },
  };
}

/** An answer that a test leaves open must not block the shutdown of the gateway. */
function ended(agent: Agent, over: AbortSignal): Agent {
  return { ...agent, run: (turn, signal) => agent.run(turn, AbortSignal.any([signal, over])) };
}
