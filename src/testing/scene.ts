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
import { createTestBody, requirePart, type TestBody } from "./skip-rule.ts";

/** The functions of a test runner. Those of Vitest, Jest and Node fit. */
export interface TestApi {
  describe(name: string, body: () => void): unknown;
  /** The runner passes its test context to the body, if it has one. The body uses it to skip the test with a reason. */
  it(name: string, body: TestBody): unknown;
}

/** Provides the stores under test. */
export interface StoreHarness {
  /** Opens a new, empty store. */
  open(): Promise<Store>;
  /** Closes the store and opens the same data again. */
  reopen(store: Store): Promise<Store>;
  /** Opens a second store on the data of an open one, as another process does. Only for stores that several may share. */
  openSecond?(store: Store): Promise<Store>;
  /** Called after each test. Closes open stores and deletes their data. */
  destroy(): Promise<void>;
  /** Resolves when the background work of the store, such as indexing, is done. Only for stores that have such work. */
  waitUntilIdle?(store: Store): Promise<void>;
  /** A runner of this machine whose process has ended. Only for stores that can detect it. */
  deadRunner?(): Runner;
  /** A runner of this machine whose process exists, but not the process of the suite. Only for stores that can detect it. */
  silentRunner?(): Runner;
  /** The process of the suite as a runner. Only for stores that can detect it. */
  ownRunner?(): Runner;
}

/** One rule of the port and its test, on a separate store. */
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

/** All times are fixed: the suite reads no clock. */
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

/** The name of the chat of `inGroup`. */
export const GROUP = "chat:telegram:-100";

export function user(text: string, more: Partial<NewMessage> = {}): NewMessage {
  return { role: "user", parts: [textPart(text)], ...more };
}

export function assistant(text: string, more: Partial<NewMessage> = {}): NewMessage {
  return { role: "assistant", parts: [textPart(text)], ...more };
}

/** A runner on another machine. It counts as alive for half a minute after each heartbeat. */
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

/** A store, and short methods for common actions. `now` defaults to `T0`. */
export interface Scene {
  readonly store: Store;
  readonly deadRunner: Runner | undefined;
  readonly silentRunner: Runner | undefined;
  readonly ownRunner: Runner | undefined;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<void>;
  /** Opens a second store on the same data; skips the rule if the harness cannot. */
  openSecond(): Promise<Scene>;
  /** Waits until the background work of the store is done. */
  waitUntilIdle(): Promise<void>;
  newId(): string;
  /** The routing of a message of this source. */
  routing(source: Source): Omit<Open, "fresh">;
  open(source: Source, more?: Partial<Open>): Promise<Opened>;
  accept(source: Source, words: string, more?: Partial<Accept>): Promise<Accepted>;
  /** Accepts a message and asserts that it is not a duplicate. */
  take(source: Source, words: string, more?: Partial<Accept>): Promise<NewlyAccepted>;
  /** Accepts a message that starts a turn at once, for the runner `r1`. */
  begin(source: Source, words: string, more?: Partial<Accept>): Promise<Turn>;
  beat(runner: string, now?: number): Promise<void>;
  claim(session: string, runner?: string, now?: number): Promise<Turn | undefined>;
  finish(turn: Turn, words: string, more?: Partial<Finish>): Promise<Finished>;
  /** Runs a complete turn: the message, then the answer. */
  talk(source: Source, words: string, answer: string, more?: Partial<Accept>): Promise<Session>;
  /** Creates a session of `owner` with these lines, alternately from the user and the assistant. */
  create(owner: string, lines?: readonly string[], more?: Partial<NewSession>): Promise<Session>;
  say(session: string, ...messages: readonly NewMessage[]): Promise<readonly number[]>;
  fork(session: string, more?: { readonly keep?: number; readonly title?: string }): Promise<Session>;
  reshape(session: string, change: SceneViewChange, now?: number): Promise<ViewChangeResult>;
  tryReshape(session: string, change: SceneViewChange, now?: number): Promise<ViewChangeResult | Refused>;
  /** The texts of the messages that the session shows. */
  shows(session: string): Promise<string[]>;
  get(session: string): Promise<Session>;
}

type SceneViewChange = ViewChange extends infer R
  ? R extends ViewChange
    ? Omit<R, "asker" | "session" | "now">
    : never
  : never;

/** Ids must differ between the scenes of one rule. */
function createCounter(): () => number {
  let numbers = 0;
  return () => {
    numbers += 1;
    return numbers;
  };
}

function createScene(first: Store, harness: StoreHarness, next: () => number = createCounter()): Scene {
  let store = first;
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
    async openSecond() {
      const open = requirePart(
        harness.openSecond,
        "the harness has no openSecond, which opens a second store on the same data",
      );
      return createScene(await open(store), harness, next);
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
