import type { ChatCommandContext } from "../../../commands/command.ts";
import { isEmptySession, listNewestSessions } from "../../../commands/find-sessions.ts";
import { switchSession } from "../../../commands/switch-session.ts";
import type { Opened } from "../../../core/conversation.ts";
import { PostriderError } from "../../../core/errors.ts";
import { OWNER } from "../../../core/owner.ts";
import { resolveResetPolicy } from "../../../core/reset-policy.ts";
import type { Session } from "../../../core/session.ts";
import { localSource } from "../../../core/source.ts";
import type { Turn } from "../../../core/turn.ts";
import type { Agent } from "../../../ports/agent.ts";
import type { Store } from "../../../ports/store.ts";
import { buildRouting, DEFAULT_RESET } from "../../../sessions/routing.ts";
import { createSessions } from "../../../sessions/sessions.ts";
import { localRunner } from "../../../system/local-runner.ts";
import { type RunnerLife, runnerLife } from "../../../system/runner-life.ts";
import { systemClock, systemZone } from "../../../system/system-clock.ts";
import type { TurnEvent } from "../../../turns/active-turns.ts";
import { type AgentChat, openAgentChat } from "../../../turns/agent-chat.ts";
import type { TurnHooks } from "../../../turns/turn-hooks.ts";
import { watchLocalProcesses } from "../../../turns/watch-local.ts";
import type { Config } from "../../config/config.ts";
import { exitOnLostStore } from "../../exit-on-lost-store.ts";
import type { Home } from "../../home.ts";
import { createLocalTools } from "../../local-tools.ts";
import { openHomeStore } from "../../open-store.ts";
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
  /** Stops the turn in progress and releases all resources. */
  close(): Promise<void>;
}

/** The default share of the model's context window at which a conversation is compressed. */
const COMPRESS_AT = 0.85;

export interface ChatOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly agent: Agent;
  /** A pipe shares the first terminal's conversation; other kinds have their own. */
  readonly kind: TerminalSlotKind | "pipe";
  /** Absent when nothing is configured. */
  readonly config?: Config | undefined;
  readonly plugins?: LoadedPlugins | undefined;
  onEvent(event: TurnEvent): void;
  notify(text: string): void;
  /** Reports that the database file was lost. The process exits afterwards. */
  onStoreLost(text: string): void;
}

/** Opens the resources of a chat: the store, a runner with a heartbeat, and a conversation. */
export async function startChat(options: ChatOptions): Promise<TerminalChat> {
  const { home, environment, agent, kind, config, onEvent, notify } = options;
  const mode = kind === "query" ? "in-process" : "workers";
  const store = await openHomeStore({
    home,
    environment,
    mode,
    onLost: exitOnLostStore(options.onStoreLost),
  });
  const onError = (error: unknown): void => notify((error as Error).message);
  const { life, slot } = await registerRunner(store, kind, onError).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const { runner } = life;
  const source = slot?.source ?? localSource();
  const zone = config?.gateway.zone ?? systemZone();
  const { profile, reset, scope } = config?.gateway ?? { profile: "main", reset: DEFAULT_RESET, scope: {} };
  const settings = { zone, profile, reset, scope, clock: systemClock };
  const at = config === undefined ? COMPRESS_AT : config.gateway.compressAt;
  const tools = createLocalTools({
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
    if (turn.target.platform !== source.platform) return { prepare: () => tools.prepare(turn) };
    return {
      async prepare() {
        memory.startTurn(turn);
        return tools.prepare(turn, { cwd });
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
    claims: kind === "terminal" ? "all" : "one", // a pipe or a single question ends after its own answer
    hooks,
    onEvent,
  });
  // Preloads the tools while the person types their first message.
  if (kind === "terminal") setImmediate(() => void tools.load().catch(() => {})); // the first turn reports it
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
      // In a terminal, messages during an answer always queue.
      busy: "queue",
      personalities: config?.gateway.personalities ?? {},
      ...(config !== undefined && { configured: config.gateway }),
      now: systemClock.now,
      random: systemClock.random,
      processes: tools.processes,
      ...(options.plugins !== undefined && { customCommands: options.plugins.commands }),
    },
    async close() {
      life.stop();
      try {
        leaving.abort();
        await watching;
        await talk.close();
        await tools.processes.close();
        await memory.close();
        await slot?.release();
        await life.retire();
      } finally {
        await store.close();
      }
    },
  };
}

async function registerRunner(
  store: Store,
  kind: ChatOptions["kind"],
  onError: (error: unknown) => void,
): Promise<{ readonly life: RunnerLife; readonly slot: TerminalSlot | undefined }> {
  const life = await runnerLife({ store, clock: systemClock, runner: localRunner(), onError });
  try {
    return { life, slot: kind === "pipe" ? undefined : await leaseTerminalSlot(life, kind) };
  } catch (error) {
    life.stop();
    throw error;
  }
}

/** The session to start in: the terminal's last one, the newest, a named one or a new one. */
export type ChatStart = "here" | "newest" | "new" | { readonly session: string };

/** Opens the terminal's conversation in that session. */
export async function openChatSession(context: ChatCommandContext, start: ChatStart): Promise<Opened> {
  // Resolved first, so that a wrong name changes nothing.
  const session = await findStartSession(context, start);
  const opened = await context.chat.open();
  const { number } = opened.conversation;
  if (session !== undefined) return switchSession(context, number, session);
  const isFit = start === "here" || isEmptySession(opened.session);
  return isFit ? opened : context.sessions.reset(context.who, number);
}

async function findStartSession(context: ChatCommandContext, start: ChatStart): Promise<Session | undefined> {
  if (start === "newest") return findNewestSession(context);
  return typeof start === "object"
    ? resolveSessionArgument(context.store, context.who, start.session)
    : undefined;
}

async function findNewestSession(context: ChatCommandContext): Promise<Session> {
  const [found] = await listNewestSessions(context, 1, undefined, { kinds: ["chat", "editor"] });
  if (found !== undefined) return found;
  throw new PostriderError(
    "not_found",
    "There is no session to continue yet. Run postrider without options to start one.",
  );
}
