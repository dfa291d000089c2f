import type { ChatCommandContext } from "../../../commands/command.ts";
import { isEmptySession, listNewestSessions } from "../../../commands/newest-sessions.ts";
import { switchSession } from "../../../commands/switch-session.ts";
import type { Opened } from "../../../core/conversation.ts";
import { PostriderError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/owner.ts";
import { resolveResetPolicy } from "../../../core/reset-policy.ts";
import { HEARTBEAT_MS, RUNNER_DEAD_MS, type Runner } from "../../../core/runner.ts";
import type { Session } from "../../../core/session.ts";
import { localSource } from "../../../core/source.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Store } from "../../../ports/store.ts";
import { buildRouting, DEFAULT_RESET } from "../../../sessions/routing.ts";
import { createSessions } from "../../../sessions/sessions.ts";
import { sqliteStore } from "../../../stores/sqlite/store.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { systemClock, systemZone } from "../../../system/system-clock.ts";
import { type AgentChat, openAgentChat, type TalkEvent } from "../../../turns/agent-chat.ts";
import type { TurnHooks } from "../../../turns/turn-hooks.ts";
import { watchLocalProcesses } from "../../../turns/watch-local.ts";
import type { Config } from "../../config/config.ts";
import { exitOnLostStore } from "../../exit-on-lost-store.ts";
import type { Home } from "../../home.ts";
import { createLocalTools } from "../../local-tools.ts";
import type { LoadedPlugins } from "../../plugins/load-plugins.ts";
import { resolveSessionArgument } from "../session-argument.ts";
import { askInTerminal } from "./ask-in-terminal.ts";
import { memoryFlush } from "./memory-flush.ts";
import { leaseTerminalSlot, type TerminalSlot, type TerminalSlotKind } from "./terminal-slot.ts";

export interface TerminalChat {
  readonly commandContext: ChatCommandContext;
  readonly talk: AgentChat;
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
  readonly kind: TerminalSlotKind | "pipe";
  /** Absent: nothing is configured. */
  readonly config?: Config | undefined;
  readonly plugins?: LoadedPlugins | undefined;
  onEvent(event: TalkEvent): void;
  notify(text: string): void;
  /** Says that the database was lost; the process ends with it. */
  onStoreLost(text: string): void;
}

/** Everything that talking takes: the store, a runner that is known to be alive, and a place to talk in. */
export async function startChat(options: ChatOptions): Promise<TerminalChat> {
  const { home, environment, agent, kind, config, onEvent, notify } = options;
  const mode = kind === "query" ? "in-process" : "workers";
  const store = await sqliteStore({
    file: home.database,
    mode,
    onLost: exitOnLostStore(options.onStoreLost),
  });
  const runner = localRunner();
  const held = await registerRunner(store, runner, kind).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const heart = setInterval(() => {
    Promise.all([store.runners.recordHeartbeat({ runner, now: Date.now() }), held?.renew()]).catch(
      (error: Error) => notify(error.message),
    );
  }, HEARTBEAT_MS);
  const source = held?.source ?? localSource();
  const zone = config?.gateway.zone ?? systemZone();
  const { profile, reset, scope } = config?.gateway ?? { profile: "main", reset: DEFAULT_RESET, scope: {} };
  const settings = { zone, profile, reset, scope, clock: systemClock };
  const at = config === undefined ? COMPRESS_AT : config.gateway.compressAt;
  const hands = createLocalTools({
    ...{ home, environment, store, clock: systemClock, config: () => config },
    customTools: () => options.plugins?.tools ?? [],
  });
  const memory = memoryFlush({
    ...{ store, clock: systemClock, runner: runner.id, agent, isLongLived: kind === "terminal" },
    memory: () => config?.gateway.memory ?? { enabled: true, flush: true },
  });
  const cwd = process.cwd();
  function hooks(turn: Turn): TurnHooks {
    // A messenger chat shares the session: the turn has no tools here.
    if (turn.target.platform !== source.platform) return { prepare: () => hands.prepare(turn) };
    return {
      async prepare() {
        memory.startTurn(turn);
        return hands.prepare(turn, { cwd });
      },
      approve: (request, signal) =>
        askInTerminal({ store, clock: systemClock, kind, notify }, turn, request, signal),
      ...(at !== undefined && { compression: { at, notify: async (words) => notify(words) } }),
    };
  }
  const talk = openAgentChat({
    store,
    agent: () => agent,
    runner: runner.id,
    clock: systemClock,
    source,
    routing: () => buildRouting(source, settings),
    claims: kind === "terminal" ? "all" : "one", // a pipe or a question may be at its end with its own answer
    hooks,
    onEvent,
  });
  // Whoever sits here says something a moment later.
  if (kind === "terminal") setImmediate(() => void hands.load().catch(() => {})); // the first turn meets it
  const leaving = new AbortController();
  const watching =
    kind === "terminal"
      ? watchLocalProcesses({
          store,
          clock: systemClock,
          isMine: ({ target }) => target.platform === source.platform && target.chatId === source.chatId,
          show: notify,
          wake: talk.wake,
          onError: (error) => notify((error as Error).message),
          signal: leaving.signal,
        })
      : undefined;
  return {
    store,
    talk,
    runner: runner.id,
    commandContext: {
      sessions: memory.wrapSessions(createSessions({ store, zone, profile, reset, scope }), talk),
      store,
      chat: talk,
      who: { person: OWNER },
      role: "owner",
      source,
      agent,
      policy: resolveResetPolicy(settings.reset, source.platform, source.chatType),
      zone,
      // What is said in a terminal while an answer is written always waits for its turn.
      busy: "queue",
      personalities: config?.gateway.personalities ?? {},
      ...(config !== undefined && { configured: config.gateway }),
      now: systemClock.now,
      random: systemClock.random,
      processes: hands.processes,
      ...(options.plugins !== undefined && { customCommands: options.plugins.commands }),
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
        await store.runners.retire({ runner: runner.id });
      } finally {
        await store.close();
      }
    },
  };
}

async function registerRunner(
  store: Store,
  runner: Runner,
  kind: ChatOptions["kind"],
): Promise<TerminalSlot | undefined> {
  await store.runners.recordHeartbeat({ runner, now: Date.now() });
  return kind === "pipe" ? undefined : leaseTerminalSlot(store, runner.id, kind, RUNNER_DEAD_MS);
}

/** Where to talk: where the place was, in the newest session, in a named one, or in a new one. */
export type ChatStart = "here" | "newest" | "new" | { readonly session: string };

/** Opens the place's conversation there. */
export async function openChatSession(place: ChatCommandContext, beginning: ChatStart): Promise<Opened> {
  // Looked for first: a wrong name leaves nothing behind.
  const session = await findStartSession(place, beginning);
  const opened = await place.chat.open();
  const { number } = opened.conversation;
  if (session !== undefined) return switchSession(place, number, session);
  const isFit = beginning === "here" || isEmptySession(opened.session);
  return isFit ? opened : place.sessions.reset(place.who, number);
}

async function findStartSession(
  place: ChatCommandContext,
  beginning: ChatStart,
): Promise<Session | undefined> {
  if (beginning === "newest") return findNewestSession(place);
  return typeof beginning === "object"
    ? resolveSessionArgument(place.store, place.who, beginning.session)
    : undefined;
}

async function findNewestSession(place: ChatCommandContext): Promise<Session> {
  const [found] = await listNewestSessions(place, 1, undefined, { kinds: ["chat", "editor"] });
  if (found !== undefined) return found;
  throw new PostriderError("not_found", "There is no session to go on with yet. Start with postrider alone.");
}
