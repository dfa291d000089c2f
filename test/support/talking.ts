import { onTestFinished } from "vitest";
import type { ChatCommandContext, CommandReply } from "../../src/commands/command.ts";
import { runChatCommand } from "../../src/commands/table.ts";
import {
  DEFAULT_RESET_POLICY,
  getText,
  localRunner,
  localSource,
  OWNER,
  type ResetPolicy,
  type Runner,
  type Source,
} from "../../src/index.ts";
import type { Agent, AgentEvent, AgentTurn } from "../../src/ports/agent.ts";
import { buildRouting } from "../../src/sessions/routing.ts";
import type { TurnEvent } from "../../src/turns/active-turns.ts";
import { type AgentChat, type AgentChatOptions, openAgentChat } from "../../src/turns/agent-chat.ts";
import { look } from "./database.ts";
import type { Home } from "./test-home.ts";

export const me: { readonly person: string } = { person: OWNER };

/** One answer of an agent that a test controls. */
export interface HeldAnswer {
  readonly turn: AgentTurn;
  readonly signal: AbortSignal;
  send(...events: readonly AgentEvent[]): void;
  /** Resolves when the consumer has processed it. */
  say(text: string): Promise<void>;
  end(): void;
  break(error: unknown): void;
}

export interface HeldAgent extends Agent {
  /** The next requested answer, past or future. */
  asked(): Promise<HeldAnswer>;
}

/** An agent that a test controls. It ends when it is stopped, unless it is `deaf`. */
export function heldAgent({ deaf = false }: { readonly deaf?: boolean } = {}): HeldAgent {
  const asked: HeldAnswer[] = [];
  const waiting: ((answer: HeldAnswer) => void)[] = [];
  return {
    name: "held",
    asked() {
      const ready = asked.shift();
      return ready === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(ready);
    },
    async *run(turn, signal) {
      const steps: (AgentEvent | "end" | { readonly error: unknown })[] = [];
      const taken: (() => void)[] = [];
      let wake = (): void => {};
      const add = (...more: typeof steps): void => {
        steps.push(...more);
        wake();
      };
      const answer: HeldAnswer = {
        turn,
        signal,
        send: add,
        say: (text) =>
          new Promise((resolve) => {
            taken.push(resolve);
            add({ type: "text", text });
          }),
        end: () => add("end"),
        break: (error) => add({ error }),
      };
      const listener = waiting.shift();
      if (listener === undefined) asked.push(answer);
      else listener(answer);
      if (!deaf) signal.addEventListener("abort", () => add("end"));
      for (;;) {
        const step = steps.shift();
        if (step === undefined) {
          for (const resolve of taken.splice(0)) resolve();
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if (step === "end") return;
        else if ("error" in step) throw step.error;
        else yield step;
      }
    },
  };
}

export interface TalkingOptions {
  readonly source?: Source;
  readonly policy?: ResetPolicy;
  readonly zone?: string;
  readonly takesNext?: boolean;
  readonly personalities?: ChatCommandContext["personalities"];
  readonly hooks?: AgentChatOptions["hooks"];
}

/** A person who chats in a home, with all received output. */
export interface Talking {
  readonly talk: AgentChat;
  readonly place: ChatCommandContext;
  readonly runner: string;
  readonly events: TurnEvent[];
  /** Sends the text and waits for the answer. */
  ask(text: string): Promise<string | undefined>;
  /** Runs a command, as it is typed. */
  command(line: string): Promise<CommandReply>;
}

export async function talkIn(home: Home, agent: Agent, options: TalkingOptions = {}): Promise<Talking> {
  const { source = localSource(), policy = DEFAULT_RESET_POLICY, zone = "UTC" } = options;
  const { store, clock, sessions } = home;
  const runner = localRunner();
  await store.runners.recordHeartbeat({ runner, now: clock.now() });
  const events: TurnEvent[] = [];
  const reset = { default: policy, byType: {}, byPlatform: {} };
  const talk = openAgentChat({
    store,
    agent: () => agent,
    runner: runner.id,
    clock,
    source,
    routing: () => buildRouting(source, { zone, profile: "main", reset, scope: {}, clock }),
    claims: (options.takesNext ?? true) ? "all" : "one",
    onEvent: (event) => events.push(event),
    ...(options.hooks !== undefined && { hooks: options.hooks }),
  });
  onTestFinished(() => talk.close());
  const place: ChatCommandContext = {
    sessions,
    store,
    chat: talk,
    who: me,
    role: "owner",
    source,
    agent,
    policy,
    zone,
    busy: "queue",
    personalities: options.personalities ?? {},
    now: () => clock.now(),
    random: (bytes) => clock.random(bytes),
  };
  return {
    talk,
    place,
    runner: runner.id,
    events,
    async ask(text) {
      const answer = await (await talk.submit(text)).answer;
      return answer && getText(answer);
    },
    async command(line) {
      const [, name = "", args = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(line) ?? [];
      await ((await talk.findCurrent()) ?? talk.open());
      return runChatCommand(place, name, args);
    },
  };
}

/** A runner of this machine whose process does not exist: pids are never above 2^22. */
export function deadRunner(): Runner {
  return { ...localRunner(), pid: 4_194_999 };
}

/** Every row of every table. */
export function rowsIn(file: string): Record<string, unknown[]> {
  return look(file, (db) => {
    const tables = db
      .prepare("select name from sqlite_schema where type = 'table' and sql not like 'create virtual%'")
      .pluck()
      .all() as string[];
    return Object.fromEntries(
      tables.map((name) => [name, db.prepare(`select * from "${name}"`).raw().all()]),
    );
  });
}
