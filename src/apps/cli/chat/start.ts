import type { Place } from "../../../commands/command.ts";
import { goTo } from "../../../commands/go-to.ts";
import { isEmpty, newestSessions } from "../../../commands/newest-sessions.ts";
import type { Opened } from "../../../core/conversation.ts";
import { PostriderError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/owner.ts";
import { policyFor } from "../../../core/reset-policy.ts";
import { HEARTBEAT_MS, RUNNER_DEAD_MS, type Runner } from "../../../core/runner.ts";
import type { Session } from "../../../core/session.ts";
import { localSource } from "../../../core/source.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Store } from "../../../ports/store.ts";
import { DEFAULT_RESET, routingOf } from "../../../sessions/routing.ts";
import { createSessions } from "../../../sessions/sessions.ts";
import { sqliteStore } from "../../../stores/sqlite/store.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { systemClock, systemZone } from "../../../system/system-clock.ts";
import type { Prepared } from "../../../turns/run-turn.ts";
import { openTalk, type Talk, type TalkEvent } from "../../../turns/talk.ts";
import { watchHere } from "../../../turns/watch-local.ts";
import type { Config } from "../../config/config.ts";
import { endWhenLost } from "../../end-lost.ts";
import type { Home } from "../../home.ts";
import { localHands } from "../../local-hands.ts";
import { sessionArgument } from "../session-argument.ts";
import { askHere } from "./ask-here.ts";
import { type HeldPlace, holdPlace, type PlaceKind } from "./place.ts";
import { remembering } from "./remembering.ts";

export interface Chat {
  readonly place: Place;
  readonly talk: Talk;
  readonly store: Store;
  readonly runner: string;
  /** Stops what is being answered, lets go of everything. */
  close(): Promise<void>;
}

/** The share of the model's window at which a conversation is summed up, where nothing is configured. */
const COMPRESS_AT = 0.85;

export interface ChatOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly agent: Agent;
  /** A pipe shares the first terminal's conversation; the others have their own. */
  readonly kind: PlaceKind | "pipe";
  /** Absent: nothing is configured. */
  readonly config?: Config | undefined;
  heard(event: TalkEvent): void;
  notice(text: string): void;
  /** Says that the database was lost; the process ends with it. */
  lost(text: string): void;
}

/** Everything that talking takes: the store, a runner that is known to be alive, and a place to talk in. */
export async function startChat(options: ChatOptions): Promise<Chat> {
  const { home, environment, agent, kind, config, heard, notice } = options;
  const mode = kind === "query" ? "in-process" : "workers";
  const store = await sqliteStore({ file: home.database, mode, onLost: endWhenLost(options.lost) });
  const runner = localRunner();
  const held = await arrive(store, runner, kind).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const heart = setInterval(() => {
    Promise.all([store.beat({ runner, now: Date.now() }), held?.keep()]).catch((error: Error) =>
      notice(error.message),
    );
  }, HEARTBEAT_MS);
  const source = held?.source ?? localSource();
  const zone = config?.gateway.zone ?? systemZone();
  const { profile, reset, scope } = config?.gateway ?? { profile: "main", reset: DEFAULT_RESET, scope: {} };
  const settings = { zone, profile, reset, scope, clock: systemClock };
  const at = config === undefined ? COMPRESS_AT : config.gateway.compressAt;
  const hands = localHands({ home, environment, store, clock: systemClock, config: () => config });
  const memory = remembering({
    ...{ store, clock: systemClock, runner: runner.id, agent, stays: kind === "terminal" },
    memory: () => config?.gateway.memory ?? { enabled: true, flush: true },
  });
  const cwd = process.cwd();
  async function prepare(turn: Turn): Promise<Prepared> {
    memory.begun(turn);
    return hands.prepare(turn, { cwd });
  }
  const talk = openTalk({
    store,
    agent: () => agent,
    runner: runner.id,
    clock: systemClock,
    source,
    routing: () => routingOf(source, settings),
    takes: kind === "terminal" ? "all" : "one", // a pipe or a question may be at its end with its own answer
    around: (turn) => ({
      prepare: () => prepare(turn),
      approve: (request, signal) =>
        askHere({ store, clock: systemClock, kind, notice }, turn, request, signal),
      ...(at !== undefined && { compression: { at, tell: async (words) => notice(words) } }),
    }),
    prepareElsewhere: (turn) => hands.prepare(turn),
    heard,
  });
  // Whoever sits here says something a moment later.
  if (kind === "terminal") setImmediate(() => void hands.load().catch(() => {})); // the first turn meets it
  const leaving = new AbortController();
  const watching =
    kind === "terminal"
      ? watchHere({
          store,
          clock: systemClock,
          isMine: ({ target }) => target.platform === source.platform && target.chatId === source.chatId,
          tell: notice,
          wake: talk.wake,
          failed: (error) => notice((error as Error).message),
          signal: leaving.signal,
        })
      : undefined;
  return {
    store,
    talk,
    runner: runner.id,
    place: {
      sessions: memory.around(createSessions({ store, zone, profile, reset, scope }), talk),
      store,
      talk,
      who: { person: OWNER },
      role: "owner",
      source,
      agent,
      policy: policyFor(settings.reset, source.platform, source.chatType),
      zone,
      // What is said in a terminal while an answer is written always waits for its turn.
      busy: "queue",
      personalities: config?.gateway.personalities ?? {},
      ...(config !== undefined && { configured: config.gateway }),
      now: systemClock.now,
      random: systemClock.random,
      processes: hands.processes,
    },
    async close() {
      clearInterval(heart);
      try {
        leaving.abort();
        await watching;
        await talk.close();
        await hands.processes.close();
        await memory.close();
        await held?.release();
        await store.retire({ runner: runner.id });
      } finally {
        await store.close();
      }
    },
  };
}

async function arrive(
  store: Store,
  runner: Runner,
  kind: ChatOptions["kind"],
): Promise<HeldPlace | undefined> {
  await store.beat({ runner, now: Date.now() });
  return kind === "pipe" ? undefined : holdPlace(store, runner.id, kind, RUNNER_DEAD_MS);
}

/** Where to talk: where the place was, in the newest session, in a named one, or in a new one. */
export type Beginning = "here" | "newest" | "new" | { readonly session: string };

/** Opens the place's conversation there. */
export async function begin(place: Place, beginning: Beginning): Promise<Opened> {
  // Looked for first: a wrong name leaves nothing behind.
  const session = await sessionOf(place, beginning);
  const opened = await place.talk.open();
  const { number } = opened.conversation;
  if (session !== undefined) return goTo(place, number, session);
  const isFit = beginning === "here" || isEmpty(opened.session);
  return isFit ? opened : place.sessions.reset(place.who, number);
}

async function sessionOf(place: Place, beginning: Beginning): Promise<Session | undefined> {
  if (beginning === "newest") return newest(place);
  return typeof beginning === "object"
    ? sessionArgument(place.store, place.who, beginning.session)
    : undefined;
}

async function newest(place: Place): Promise<Session> {
  const [found] = await newestSessions(place, 1, undefined, { kinds: ["chat", "editor"] });
  if (found !== undefined) return found;
  throw new PostriderError("not_found", "There is no session to go on with yet. Start with postrider alone.");
}
