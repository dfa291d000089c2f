import assert from "node:assert/strict";
import type { Open, Opened } from "../core/conversation.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { ScopeRules } from "../core/identity.ts";
import { getText, type Message, type NewMessage, textPart } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import { isRefused, type Refused, throwIfRefused } from "../core/refusal.ts";
import type { Runner } from "../core/runner.ts";
import type { NewSession, Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { Accept, Accepted, Finish, Finished, Turn } from "../core/turn.ts";
import type { ViewChange, ViewChangeResult } from "../core/view-change.ts";
import type { Store } from "../ports/store.ts";
import { createTestBody, type TestBody } from "./skip-rule.ts";

/** What a test runner gives: Vitest's, Jest's and Node's own all fit. */
export interface TestApi {
  describe(name: string, body: () => void): unknown;
  /** A body is given the runner's context of the test, if it has one: it skips the test, with a reason. */
  it(name: string, body: TestBody): unknown;
}

/** How the suite gets stores of the kind under test. */
export interface StoreHarness {
  /** A fresh, empty store each time. */
  open(): Promise<Store>;
  /** Closes the store and opens the same data again. */
  reopen(store: Store): Promise<Store>;
  /** Called after each test: closes whatever is still open and clears its data away. */
  destroy(): Promise<void>;
  /** Resolves when the store has done what it does in quiet moments, such as indexing; where there is such a thing. */
  waitUntilIdle?(store: Store): Promise<void>;
  /** A runner of this very machine whose process is gone, where the store can tell. */
  deadRunner?(): Runner;
  /** A runner of this machine whose process exists and is not the one that runs the suite, where the store can tell. */
  silentRunner?(): Runner;
  /** The process that runs the suite as a runner, where the store can tell. */
  ownRunner?(): Runner;
}

/** One promise of the port and the proof of it, on a store of its own. */
export type StoreRule = (promise: string, proof: (scene: Scene) => Promise<void>) => void;

export function createStoreRule({ it }: TestApi, harness: StoreHarness): StoreRule {
  return (promise, proof) => {
    const run = async (): Promise<void> => {
      try {
        await proof(createScene(await harness.open(), harness));
      } finally {
        await harness.destroy();
      }
    };
    it(promise, createTestBody(promise, run));
  };
}

/** Instants are fixed: nothing here reads a clock. */
export const T0: number = Date.UTC(2026, 2, 15, 9, 24, 37);
export const MINUTE: number = 60_000;
export const HOUR: number = 60 * MINUTE;
export const DAY: number = 24 * HOUR;

export const EVERYONE: Asker = { everyone: true };
export const SCOPE_PER_USER: ScopeRules = { groupsPerUser: true, threadsPerUser: true };
export const SCOPE_SHARED: ScopeRules = { groupsPerUser: false, threadsPerUser: false };

export const ANN: Source = dm("ann");
export const BOB: Source = dm("bob");

export function dm(user: string): Source {
  return { platform: "telegram", chatType: "dm", chatId: user, userId: user, userName: user };
}

export function inGroup(user: string, more: Partial<Source> = {}): Source {
  return {
    platform: "telegram",
    chatType: "group",
    chatId: "-100",
    chatName: "Riders",
    userId: user,
    userName: user,
    ...more,
  };
}

/** The name of the chat in which `inGroup` speaks. */
export const GROUP = "chat:telegram:-100";

export function user(words: string, more: Partial<NewMessage> = {}): NewMessage {
  return { role: "user", parts: [textPart(words)], ...more };
}

export function assistant(words: string, more: Partial<NewMessage> = {}): NewMessage {
  return { role: "assistant", parts: [textPart(words)], ...more };
}

/** A runner on another machine: alive for half a minute after each heartbeat. */
export function createRemoteRunner(id: string): Runner {
  return { id, host: "elsewhere", boot: "boot", pid: 1, started: "1" };
}

export function assertRefused<T>(value: T | Refused, code: ErrorCode): Refused {
  assert.ok(isRefused(value), `expected the refusal ${code}, got ${JSON.stringify(value)}`);
  assert.equal(value.refused, code);
  assert.match(value.reason, /\w.*\.$/, "a refusal is a sentence");
  return value;
}

export async function assertRejects(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error: { code?: unknown }) => {
    assert.equal(error.code, code);
    return true;
  });
}

export function requireValue<T>(value: T | undefined | null): T {
  assert.ok(value !== undefined && value !== null, "expected a value");
  return value;
}

export function readTexts(messages: readonly Message[] | undefined): string[] {
  return requireValue(messages).map(getText);
}

type NewlyAccepted = Extract<Accepted, { readonly tooMany?: undefined; readonly session: Session }>;

/** A store, and short words for what people and programs do with it. `now` is T0 unless given. */
export interface Scene {
  readonly store: Store;
  readonly deadRunner: Runner | undefined;
  readonly silentRunner: Runner | undefined;
  readonly ownRunner: Runner | undefined;
  /** The same data, closed and opened again. */
  reopen(): Promise<void>;
  /** Until the store has done what it does in quiet moments. */
  waitUntilIdle(): Promise<void>;
  newId(): string;
  /** What every message of this source is accepted with. */
  routing(source: Source): Omit<Open, "fresh">;
  open(source: Source, more?: Partial<Open>): Promise<Opened>;
  accept(source: Source, words: string, more?: Partial<Accept>): Promise<Accepted>;
  /** An accepted message that was not a duplicate. */
  take(source: Source, words: string, more?: Partial<Accept>): Promise<NewlyAccepted>;
  /** The message begins a turn at once, by the runner r1. */
  begin(source: Source, words: string, more?: Partial<Accept>): Promise<Turn>;
  beat(runner: string, now?: number): Promise<void>;
  claim(session: string, runner?: string, now?: number): Promise<Turn | undefined>;
  finish(turn: Turn, words: string, more?: Partial<Finish>): Promise<Finished>;
  /** A whole turn: the message, then the answer. */
  talk(source: Source, words: string, answer: string, more?: Partial<Accept>): Promise<Session>;
  /** A session of its own that belongs to `owner`, in which these lines were said by turns. */
  create(owner: string, lines?: readonly string[], more?: Partial<NewSession>): Promise<Session>;
  say(session: string, ...messages: readonly NewMessage[]): Promise<readonly number[]>;
  fork(session: string, more?: { readonly keep?: number; readonly title?: string }): Promise<Session>;
  reshape(session: string, change: SceneViewChange, now?: number): Promise<ViewChangeResult>;
  tryReshape(session: string, change: SceneViewChange, now?: number): Promise<ViewChangeResult | Refused>;
  /** What the session shows, in words. */
  shows(session: string): Promise<string[]>;
  get(session: string): Promise<Session>;
}

type SceneViewChange = ViewChange extends infer R
  ? R extends ViewChange
    ? Omit<R, "asker" | "session" | "now">
    : never
  : never;

function createScene(first: Store, harness: StoreHarness): Scene {
  let store = first;
  let numbers = 0;
  const next = (): number => {
    numbers += 1;
    return numbers;
  };
  const newId = (): string => `20260315_092437_${next().toString(16).padStart(8, "0")}`;
  const routing = (source: Source): Omit<Open, "fresh"> => ({
    source,
    profile: "main",
    scope: SCOPE_PER_USER,
    reset: {},
    newSession: { id: newId(), kind: "chat" },
    now: T0,
  });
  const ask = (session: string) => ({ asker: EVERYONE, session });

  const scene: Scene = {
    get store() {
      return store;
    },
    deadRunner: harness.deadRunner?.(),
    silentRunner: harness.silentRunner?.(),
    ownRunner: harness.ownRunner?.(),
    waitUntilIdle: async () => harness.waitUntilIdle?.(store),
    async reopen() {
      store = await harness.reopen(store);
    },
    newId,
    routing,
    open: (source, more = {}) => store.conversations.open({ ...routing(source), ...more }),
    accept: (source, words, more = {}) =>
      store.inbox.accept({ ...routing(source), messageId: `m${next()}`, message: user(words), ...more }),
    async take(source, words, more) {
      const accepted = await scene.accept(source, words, more);
      assert.ok(!accepted.duplicate, "the message counts as a duplicate");
      assert.ok(accepted.tooMany === undefined, "too many messages wait");
      return accepted;
    },
    async begin(source, words, more = {}) {
      await scene.beat("r1", more.now);
      const claim = { runner: "r1", take: "one" as const };
      return requireValue((await scene.take(source, words, { claim, ...more })).turn);
    },
    beat: (id, now = T0) => store.runners.recordHeartbeat({ runner: createRemoteRunner(id), now }),
    async claim(session, id = "r1", now = T0) {
      await scene.beat(id, now);
      return store.turns.claim({ session, runner: id, take: "one", now });
    },
    async finish({ number, fence }, words, more = {}) {
      const messages = words === "" ? [] : [assistant(words)];
      const rest = { outcome: "done" as const, messages, now: T0, ...more };
      return throwIfRefused(await store.turns.finish({ turn: number, fence, ...rest }));
    },
    async talk(source, words, answer, more = {}) {
      const turn = await scene.begin(source, words, more);
      await scene.finish(turn, answer, more.now === undefined ? {} : { now: more.now });
      return scene.get(turn.session);
    },
    async create(owner, lines = [], more = {}) {
      const session = { id: newId(), kind: "chat" as const, ...more, owner };
      const made = throwIfRefused(await store.sessions.create({ session, profile: "main", now: T0 }));
      const messages = lines.map((line, index) => (index % 2 === 0 ? user(line) : assistant(line)));
      if (messages.length > 0) await scene.say(made.id, ...messages);
      return scene.get(made.id);
    },
    async say(session, ...messages) {
      return throwIfRefused(await store.messages.append({ ...ask(session), messages, now: T0 })).seqs;
    },
    async fork(session, { keep, title } = {}) {
      const newSession = { id: newId(), kind: "chat" as const, ...(title !== undefined && { title }) };
      const rest = keep === undefined ? {} : { keep };
      return throwIfRefused(await store.sessions.fork({ ...ask(session), newSession, now: T0, ...rest }));
    },
    async reshape(session, change, now = T0) {
      return throwIfRefused(await scene.tryReshape(session, change, now));
    },
    tryReshape: (session, change, now = T0) => store.messages.changeView({ ...change, ...ask(session), now }),
    shows: async (session) => readTexts(await store.messages.readHistory(ask(session))),
    async get(session) {
      const found = await store.sessions.getSession({ asker: EVERYONE, session });
      assert.ok(found !== undefined, `there is no session ${session}`);
      return found;
    },
  };
  return scene;
}
