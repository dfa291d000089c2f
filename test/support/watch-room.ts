import { onTestFinished } from "vitest";
import type { GatewaySettings } from "../../src/core/gateway-settings.ts";
import { platformTraits } from "../../src/core/platforms.ts";
import type { Runner } from "../../src/core/runner.ts";
import { DEFAULT_TOOLS } from "../../src/core/tool-settings.ts";
import { outbox } from "../../src/gateway/deliver.ts";
import type { Flow, PlatformConnection } from "../../src/gateway/flow.ts";
import { buildMessengerTurnHooks } from "../../src/gateway/messenger-turn.ts";
import { recover } from "../../src/gateway/recover.ts";
import { type ProcessWatch, watchProcesses } from "../../src/gateway/watch-processes.ts";
import { DEFAULT_RESET, getText, localRunner, type Source } from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Outbound, Platform, SendOutcome } from "../../src/ports/platform.ts";
import type { Store } from "../../src/ports/store.ts";
import { activeTurns } from "../../src/turns/active-turns.ts";
import { listeners } from "./listeners.ts";
import type { Home } from "./test-home.ts";

/** A message in the chat. */
export interface Shown {
  readonly target: Source;
  readonly quiet: boolean;
  /** Its texts, in order of the edits. */
  readonly words: string[];
}

/** An in-memory messenger with editable messages. */
export interface Messenger {
  readonly platform: Platform;
  readonly shown: readonly Shown[];
  /** Sets the outcomes of the next edits, which then have no effect. */
  answer(...next: readonly (SendOutcome | { readonly state: "gone" })[]): void;
  /** The current text of each message, as soon as there are `count`. */
  texts(count: number): Promise<readonly string[]>;
}

export function messenger({ edits = true }: { readonly edits?: boolean } = {}): Messenger {
  const shown: Shown[] = [];
  const planned: (SendOutcome | { readonly state: "gone" })[] = [];
  const changes = listeners();
  const platform: Platform = {
    name: "telegram",
    account: "1",
    traits: platformTraits("telegram"),
    run: () => new Promise(() => {}),
    async send({ target, parts, quiet = false }) {
      shown.push({ target, quiet, words: [getText({ parts })] });
      changes.tell();
      return { state: "sent", messageId: String(shown.length - 1) };
    },
    ...(edits && {
      async edit({ parts }: Outbound, messageId: string) {
        const outcome = planned.shift();
        if (outcome !== undefined) return outcome;
        shown[Number(messageId)]?.words.push(getText({ parts }));
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
  /** Checks the processes, and resolves when all reports are sent. */
  look(): Promise<void>;
  readonly watch: ProcessWatch;
  /** Recovers the deliveries of a crashed gateway. */
  recover(): Promise<void>;
}

export interface WatcherOptions {
  readonly store?: Store;
  readonly runner?: Runner;
  readonly settings?: Partial<GatewaySettings>;
}

/** The part of a gateway that reports about processes, controlled by the test. */
export async function watcher(
  home: Home,
  { platform }: Messenger,
  agent: Agent,
  { store = home.store, runner = localRunner(), ...options }: WatcherOptions = {},
): Promise<Watcher> {
  const { clock, sessions } = home;
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const nothing = (): void => {};
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const out = outbox({ store, platform, runner: runner.id, clock, log, canSend: () => true });
  const connected: PlatformConnection = { platform, outbox: out };
  const settings: GatewaySettings = {
    zone: "UTC",
    profile: "main",
    reset: DEFAULT_RESET,
    scope: {},
    privacy: {},
    access: { everywhere: { allowAll: true }, platforms: {} },
    busy: "interrupt",
    maxPending: 100,
    turnMinutes: 10,
    streaming: false,
    personalities: {},
    tools: DEFAULT_TOOLS,
    memory: { enabled: false, flush: false },
    homes: [],
    ...options.settings,
  };
  const turns = activeTurns({
    store,
    clock,
    agent: () => agent,
    nextClaim: () => ({ runner: runner.id, take: "one" }),
    hooks: (turn) => buildMessengerTurnHooks(flow, turn),
    claimsNext: true,
    isOwn: () => false,
    onEvent: nothing,
  });
  const flow: Flow = {
    hasRoom: () => true,
    isShared: false,
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
    getConnection: (name) => (name === platform.name ? connected : undefined),
    platforms: [platform.name],
  };
  const watch = watchProcesses(flow);
  onTestFinished(async () => {
    await watch.close();
    await turns.close();
    await out.close();
  });
  const isSent = async (): Promise<void> => {
    const targets = (await store.processes.listProcesses({ asker: { everyone: true }, endedSince: 0 })).map(
      ({ target }) => target,
    );
    while (!targets.every((target) => out.isIdle(target))) await new Promise(setImmediate);
  };
  return {
    flow,
    watch,
    async look() {
      await watch.poll();
      await isSent();
    },
    async recover() {
      await recover(flow);
      await isSent();
    },
  };
}
