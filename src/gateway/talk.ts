import { randomUUID } from "node:crypto";
import type { Conversation, Fresh, Opened } from "../core/conversation.ts";
import { type Message, type NewMessage, textOf } from "../core/message.ts";
import { OWNER } from "../core/owner.ts";
import type { Session } from "../core/session.ts";
import type { Source } from "../core/source.ts";
import type { ClaimBy, Turn } from "../core/turn.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Store } from "../ports/store.ts";
import { readyMessages } from "../sessions/message-input.ts";
import { type RoutingSettings, routingOf } from "../sessions/routing.ts";
import { runTurn, type TurnEnd } from "./run-turn.ts";

export interface TalkOptions {
  readonly store: Store;
  readonly agent: Agent;
  readonly runner: string;
  readonly source: Source;
  readonly settings: RoutingSettings;
  /** Told of everything that this process answers, as it happens. */
  readonly heard: (event: TalkEvent) => void;
}

export type TalkEvent =
  | { readonly type: "begun"; readonly session: string; readonly inputs: readonly Message[] }
  | ({ readonly session: string } & AgentEvent)
  | { readonly type: "ended"; readonly session: string; readonly end: TurnEnd }
  /** The program failed, not the agent; what was accepted is kept and runs at the next start. */
  | { readonly type: "broken"; readonly session: string; readonly error: unknown };

/** What was said is stored. Its answer comes when its turn has come, here or in another process. */
export interface Said {
  readonly session: Session;
  readonly conversation: Conversation;
  readonly fresh?: Fresh;
  readonly messageId: string;
  /** The stored answer; `undefined` if the message was cancelled before its turn. */
  readonly answer: Promise<Message | undefined>;
}

/** One place where the owner of the home talks with the agent: a terminal, a pipe. */
export interface Talk {
  /** The place's conversation, after the reset policy has spoken. */
  open(): Promise<Opened>;
  /** The same without touching anything. */
  look(): Promise<{ readonly conversation: Conversation; readonly session: Session } | undefined>;
  say(text: string): Promise<Said>;
  /** Answers what a process that is gone had accepted from a terminal. Resolves with the answers. */
  recover(): Promise<readonly string[]>;
  /** Ends the answer that is being written here; resolves when it is stored. False if there is none. */
  stop(): Promise<boolean>;
  /** What waits in the place's conversation will not run. Returns the texts. */
  cancelWaiting(conversation: number): Promise<readonly string[]>;
  isAnswering(): boolean;
  /** Resolves when nothing is being answered here. */
  settled(): Promise<void>;
}

const who = { person: OWNER };
/** The steps of the flow are the program's own. */
const asker = { everyone: true } as const;

export function openTalk({ store, agent, runner, source, settings, heard }: TalkOptions): Talk {
  const { clock } = settings;
  const next: ClaimBy = { runner, take: "one" };
  let running: { readonly abort: AbortController; readonly done: Promise<void> } | undefined;

  /** Runs a turn, and after it whatever waits in the session. Resolves when the first has ended. */
  async function run(turn: Turn, fresh?: Fresh): Promise<TurnEnd> {
    const abort = new AbortController();
    const { session } = turn;
    const ending = runTurn(turn, {
      store,
      agent,
      clock,
      next,
      signal: abort.signal,
      ...(fresh !== undefined && { fresh }),
      begun: (inputs) => heard({ type: "begun", session, inputs }),
      event: (event) => heard({ ...event, session }),
    });
    const mine = { abort, done: ending.then(nothing, nothing) };
    running = mine;
    try {
      const end = await ending;
      heard({ type: "ended", session, end });
      // Later turns belong to nobody who waits here: their failure is told, not thrown.
      if (end.next !== undefined) run(end.next).catch((error) => heard({ type: "broken", session, error }));
      return end;
    } finally {
      if (running === mine) running = undefined;
    }
  }

  /** The stored answer to one of our messages. While somebody else is answering, it waits its turn. */
  async function answered(session: string, after: number, messageId: string): Promise<Message | undefined> {
    for (;;) {
      const change = nextChange(store);
      try {
        const waiting = await store.waiting({ asker, session });
        const said = (await store.messages({ asker, session, after })) ?? [];
        const at = said.findIndex((message) => message.origin?.platformMessageId === messageId);
        const answer = at === -1 ? undefined : said.slice(at + 1).find(({ role }) => role === "assistant");
        if (answer !== undefined) return answer;
        if (at === -1 && !waiting.some((message) => message.origin?.platformMessageId === messageId))
          return undefined;
        const turn =
          running === undefined ? await store.claim({ session, ...next, now: clock.now() }) : undefined;
        if (turn === undefined) await change.happened;
        else await run(turn);
      } finally {
        change.forget();
      }
    }
  }

  return {
    open: () => store.open(routingOf(source, settings)),
    async look() {
      const [conversation] = await store.conversations({ asker: who, source });
      if (conversation === undefined) return undefined;
      const found = await store.find({ asker: who, text: conversation.session });
      const session = found.find(({ id }) => id === conversation.session);
      return session && { conversation, session };
    },
    async say(text) {
      const messageId = randomUUID();
      const origin = { platform: source.platform, platformMessageId: messageId };
      const [message] = readyMessages({ role: "user", text, origin }).messages;
      if (message === undefined) throw new Error("a text became no message");
      const routing = routingOf(source, settings);
      const accepted = await store.accept({ ...routing, messageId, message, claim: next });
      if (accepted.duplicate) throw new Error("a new message was taken for an old one");
      const { turn, fresh, session, conversation } = accepted;
      const after = session.messageCount - (turn === undefined ? 0 : 1);
      const ran = turn === undefined ? Promise.resolve() : run(turn, fresh).then(nothing);
      const answer = ran.then(() => answered(session.id, after, messageId));
      return { session, conversation, messageId, answer, ...(fresh !== undefined && { fresh }) };
    },
    async recover() {
      const answers: string[] = [];
      for (const id of await store.work({ now: clock.now() })) {
        const [session] = await store.find({ asker, text: id });
        // Other platforms' messages are answered by whoever can deliver there.
        if (session?.origin?.platform !== source.platform) continue;
        let turn = await store.claim({ session: id, ...next, now: clock.now() });
        while (turn !== undefined) {
          const end: TurnEnd = await runTurn(turn, { store, agent, clock, next, signal: NEVER });
          answers.push(end.text);
          turn = end.next;
        }
      }
      return answers;
    },
    async stop() {
      if (running === undefined) return false;
      const { abort, done } = running;
      abort.abort();
      await done;
      return true;
    },
    async cancelWaiting(conversation) {
      const cancelled = await store.cancelWaiting({ conversation, now: clock.now() });
      return cancelled.map((message: NewMessage) => textOf(message));
    },
    isAnswering: () => running !== undefined,
    async settled() {
      while (running !== undefined) await running.done;
    },
  };
}

const NEVER: AbortSignal = new AbortController().signal;

function nothing(): void {}

/** Listens from now on, so that what changes during a look is not slept through. */
function nextChange(store: Store): { readonly happened: Promise<void>; forget(): void } {
  let forget = (): void => {};
  const happened = new Promise<void>((resolve) => {
    forget = store.onChange(resolve);
  });
  return { happened, forget };
}
