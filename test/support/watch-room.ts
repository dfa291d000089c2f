import { onTestFinished } from "vitest";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import type { Runner } from "../../src/core/runner.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import { outbox } from "../../src/gateway/deliver.ts";
import type { Connected, Flow } from "../../src/gateway/flow.ts";
import { messengerTurn } from "../../src/gateway/messenger-turn.ts";
import { recover } from "../../src/gateway/recover.ts";
import { type ProcessWatch, watchProcesses } from "../../src/gateway/watch-processes.ts";
import { DEFAULT_RESET, localRunner, type Source, textOf } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Outbound, Platform, Sent } from "../../src/ports/platform.ts";
import type { Store } from "../../src/ports/store.ts";
import { answering } from "../../src/turns/answering.ts";
import { listeners } from "./listeners.ts";
import type { Home } from "./test-home.ts";

/** A message as it stands in the chat. */
export interface Shown {
  readonly target: Source;
  readonly quiet: boolean;
  /** What it has said, one after the other. */
  readonly words: string[];
}

/** A messenger that is nothing but memory, in which messages may be edited. */
export interface Messenger {
  readonly platform: Platform;
  readonly shown: readonly Shown[];
  /** What the next edits come to, instead of being done. */
  answer(...next: readonly (Sent | { readonly state: "gone" })[]): void;
  /** How each message stands, once there are as many. */
  texts(count: number): Promise<readonly string[]>;
}

export function messenger({ edits = true }: { readonly edits?: boolean } = {}): Messenger {
  const shown: Shown[] = [];
  const planned: (Sent | { readonly state: "gone" })[] = [];
  const changes = listeners();
  const platform: Platform = {
    name: "telegram",
    account: "1",
    traits: platformTraits("telegram"),
    run: () => new Promise(() => {}),
    async send({ target, parts, quiet = false }) {
      shown.push({ target, quiet, words: [textOf({ parts })] });
      changes.tell();
      return { state: "sent", messageId: String(shown.length - 1) };
    },
    ...(edits && {
      async edit({ parts }: Outbound, messageId: string) {
        const outcome = planned.shift();
        if (outcome !== undefined) return outcome;
        shown[Number(messageId)]?.words.push(textOf({ parts }));
        return { state: "sent", messageId } as const;
      },
    }),
  };
  return {
    platform,
    shown,
    answer: (...next) => void planned.push(...next),
    texts: (count) =>
      changes.until(() => (shown.length >= count ? shown.map(({ words }) => words.at(-1) ?? "") : undefined)),
  };
}

export interface Watcher {
  readonly flow: Flow;
  /** Looks, and resolves when what it had to say has been sent. */
  look(): Promise<void>;
  readonly watch: ProcessWatch;
  /** Takes up what a gateway that fell has left. */
  recover(): Promise<void>;
}

export interface WatcherOptions {
  readonly store?: Store;
  readonly runner?: Runner;
  readonly settings?: Partial<GatewaySettings>;
}

/** The part of a gateway that tells chats of programs, in the test's hand. */
export async function watcher(
  home: Home,
  { platform }: Messenger,
  agent: Agent,
  { store = home.store, runner = localRunner(), ...options }: WatcherOptions = {},
): Promise<Watcher> {
  const { clock, sessions } = home;
  await store.beat({ runner, now: clock.now() });
  const nothing = (): void => {};
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const out = outbox({ store, platform, runner: runner.id, clock, log, mayStart: () => true });
  const connected: Connected = { platform, outbox: out };
  const settings: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: DEFAULT_RESET,
    scope: {},
    privacy: {},
    access: { everywhere: { allowAll: true }, platforms: {} },
    busy: "interrupt",
    mostWaiting: 100,
    turnMinutes: 10,
    streaming: false,
    personalities: {},
    tools: DEFAULT_TOOLS,
    memory: { enabled: false, flush: false },
    homes: [],
    ...options.settings,
  };
  const turns = answering({
    store,
    clock,
    agent: () => agent,
    by: () => ({ runner: runner.id, take: "one" }),
    around: (turn) => messengerTurn(flow, turn),
    takesNext: true,
    isOwn: () => false,
    heard: nothing,
  });
  const flow: Flow = {
    store,
    sessions,
    clock,
    runner: runner.id,
    log,
    hooks: { emit: async () => {} },
    turns,
    signal: turns.closing,
    settings: () => settings,
    agent: () => agent,
    connected: (name) => (name === platform.name ? connected : undefined),
    platforms: [platform.name],
  };
  const watch = watchProcesses(flow);
  onTestFinished(async () => {
    await watch.close();
    await turns.close();
    await out.close();
  });
  const isSent = async (): Promise<void> => {
    const targets = (await store.processes({ asker: { everyone: true }, endedSince: 0 })).map(
      ({ target }) => target,
    );
    while (!targets.every((target) => out.isFree(target))) await new Promise(setImmediate);
  };
  return {
    flow,
    watch,
    async look() {
      await watch.look();
      await isSent();
    },
    async recover() {
      await recover(flow);
      await isSent();
    },
  };
}
