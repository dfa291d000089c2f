import type { Fresh } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ClaimBy, Turn } from "../core/turn.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { runTurn, type TurnEnd } from "./run-turn.ts";

export type TalkEvent =
  | { readonly type: "begun"; readonly session: string; readonly inputs: readonly Message[] }
  | ({ readonly session: string } & AgentEvent)
  | { readonly type: "ended"; readonly session: string; readonly end: TurnEnd }
  /** The program failed, not the agent; what was accepted is kept, and runs with the next message or at the next start. */
  | { readonly type: "broken"; readonly session: string; readonly error: unknown };

export interface AnsweringOptions {
  readonly store: Store;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly by: ClaimBy;
  /** Whether what waits behind a turn is taken up here, whoever said it. */
  readonly takesNext: boolean;
  /** Whether this process waits for the answer to this message. */
  isOwn(message: Message): boolean;
  heard(event: TalkEvent): void;
}

/** The turns that this process runs: one per session. */
export interface Answering {
  /** Runs a turn, and after it what waits in the session. Resolves when the first has ended. */
  run(turn: Turn, fresh?: Fresh): Promise<TurnEnd>;
  /** Runs a turn and all that waits behind it, and tells nobody. Resolves with how each ended. */
  runUnheard(turn: Turn): Promise<readonly TurnEnd[]>;
  /** A turn that is still ours because its end could not be stored. Whoever takes it runs it again. */
  takeBroken(session: string): Turn | undefined;
  isRunning(session?: string): boolean;
  /** Ends the answers, or those in one conversation. False if there are none. */
  stop(conversation?: number): Promise<boolean>;
  /** Aborts when nothing more is to begin. */
  readonly closing: AbortSignal;
  /**
   * Ends what runs and begins nothing more; what waits stays for whoever comes next. An answer that somebody else waits
   * for is not cut short: its turn is left to them.
   */
  close(): Promise<void>;
}

interface Running {
  readonly conversation: number;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

export function answering(options: AnsweringOptions): Answering {
  const { store, agent, clock, by, takesNext, isOwn, heard } = options;
  const running = new Map<string, Running>();
  const broken = new Map<string, Turn>();
  const unheard = new Set<Promise<unknown>>();
  const closing = new AbortController();
  const isClosing = (): boolean => closing.signal.aborted;
  const next = (): ClaimBy | undefined => (isClosing() ? undefined : by);

  async function run(turn: Turn, fresh?: Fresh): Promise<TurnEnd> {
    const { session, conversation } = turn;
    const abort = new AbortController();
    if (isClosing()) abort.abort();
    let isMine = false;
    const ending = runTurn(turn, {
      store,
      agent,
      clock,
      next: () => (takesNext ? next() : undefined),
      isLeft: () => isClosing() && !isMine,
      signal: abort.signal,
      ...(fresh !== undefined && { fresh }),
      begun: (inputs) => {
        isMine = inputs.some(isOwn);
        heard({ type: "begun", session, inputs });
      },
      event: (event) => heard({ ...event, session }),
    });
    const mine = { conversation, abort, done: ending.then(nothing, nothing) };
    running.set(session, mine);
    try {
      const end = await ending;
      heard({ type: "ended", session, end });
      // Later turns belong to nobody who waits here: their failure is told, not thrown.
      if (end.next !== undefined)
        run(end.next).catch((error) => isClosing() || heard({ type: "broken", session, error }));
      return end;
    } catch (error) {
      if (!isTakenOver(error) && !isClosing()) broken.set(session, turn);
      throw error;
    } finally {
      if (running.get(session) === mine) running.delete(session);
    }
  }

  async function runEach(first: Turn): Promise<readonly TurnEnd[]> {
    const ends: TurnEnd[] = [];
    for (let turn: Turn | undefined = first; turn !== undefined; ) {
      const end: TurnEnd = await runTurn(turn, { store, agent, clock, next, signal: closing.signal });
      ends.push(end);
      turn = end.next;
    }
    return ends;
  }

  async function stop(conversation?: number): Promise<boolean> {
    const isMeant = (turn: Running): boolean => (conversation ?? turn.conversation) === turn.conversation;
    const turns = [...running.values()].filter(isMeant);
    for (const { abort } of turns) abort.abort();
    await Promise.all(turns.map(({ done }) => done));
    return turns.length > 0;
  }

  return {
    run,
    runUnheard(turn) {
      const ends = runEach(turn);
      const done = ends.then(nothing, nothing).finally(() => unheard.delete(done));
      unheard.add(done);
      return ends;
    },
    takeBroken(session) {
      const turn = broken.get(session);
      broken.delete(session);
      return turn;
    },
    isRunning: (session) => (session === undefined ? running.size > 0 : running.has(session)),
    stop,
    closing: closing.signal,
    async close() {
      closing.abort();
      await stop();
      await Promise.all(unheard);
    },
  };
}

/** Another runner took this process for dead and answers in its place. */
export function isTakenOver(error: unknown): boolean {
  return error instanceof PostriderError && error.code === "stale_fence";
}

export function nothing(): void {}
