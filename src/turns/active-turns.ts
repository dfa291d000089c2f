import { PostriderError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { AnswerDraft, ClaimBy, Turn } from "../core/turn.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { runTurn, type TurnEnd, type TurnRun } from "./run-turn.ts";

export type TurnEvent =
  | { readonly type: "begun"; readonly session: string; readonly inputs: readonly Message[] }
  | ({ readonly session: string } & AgentEvent)
  | { readonly type: "ended"; readonly session: string; readonly end: TurnEnd }
  /** The program failed, not the agent; what was accepted is kept, and runs with the next message or at the next start. */
  | { readonly type: "broken"; readonly session: string; readonly error: unknown };

export interface ActiveTurnsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Who answers. */
  agent(turn: Turn): Agent;
  /** Who takes up what waits behind a turn. */
  nextClaim(turn: Turn): ClaimBy;
  /** What the place adds to the running of a turn. */
  around?(turn: Turn): Around;
  /** Whether what waits behind a turn is taken up here, whoever said it. */
  readonly claimsNext: boolean;
  /** Whether this process waits for the answer to this message. */
  isOwn(message: Message): boolean;
  onEvent(event: TurnEvent): void;
}

/** What a place has to do with a turn, from its beginning to its end. */
export interface Around
  extends Partial<
    Pick<
      TurnRun,
      | "longestMs"
      | "showsNotice"
      | "storesFirst"
      | "history"
      | "stored"
      | "speaker"
      | "storeLater"
      | "compression"
      | "prepare"
      | "begun"
      | "event"
      | "approve"
      | "deliveries"
    >
  > {
  /** Its end is stored, or could not be. */
  ended?(end: TurnEnd | undefined): void;
}

/** The turns that this process runs: one per session. */
export interface ActiveTurns {
  /** Runs a turn, and after it what waits in the session. Resolves when the first has ended. */
  run(turn: Turn): Promise<TurnEnd>;
  /** Runs a turn that a crashed process left, then the messages that wait in the session. Resolves with how each ended. */
  rerun(turn: Turn): Promise<readonly TurnEnd[]>;
  /** Ends a turn that a crashed editor process left, with the part of the answer that was shown. Nobody is told. */
  endAbandoned(turn: Turn): Promise<TurnEnd>;
  /** A turn that is still ours because its end could not be stored. Whoever takes it runs it again. */
  takeUnfinished(session: string): Turn | undefined;
  /** Sessions with such a turn. */
  listUnfinished(): readonly string[];
  isRunning(session?: string): boolean;
  /**
   * Ends the answers, or those that are meant, and resolves when their ends are stored; with `patienceMs`, no later than
   * that. False if there are none.
   */
  stop(which?: TurnSelector, patienceMs?: number): Promise<boolean>;
  /** Aborts when nothing more is to begin. */
  readonly closing: AbortSignal;
  /**
   * Begins nothing more; what waits stays for whoever comes next. What runs has `graceMs` to come to its end, then it is
   * ended. An answer that somebody else waits for is not cut short: its turn is left to them.
   */
  close(graceMs?: number): Promise<void>;
}

/** One turn, by its number or by what it answers, or those of a conversation. */
export type TurnSelector =
  | { readonly conversation: number }
  | { readonly turn: number }
  | { readonly session: string; readonly input: number };

interface RunningTurn {
  readonly turn: Turn;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

export function activeTurns(options: ActiveTurnsOptions): ActiveTurns {
  const { store, clock, claimsNext, isOwn, onEvent } = options;
  const running = new Map<string, RunningTurn>();
  const broken = new Map<string, Turn>();
  const endings = new Set<Promise<unknown>>();
  const closing = new AbortController();
  const isClosing = (): boolean => closing.signal.aborted;
  let isDraining = false;
  const next = (turn: Turn): ClaimBy | undefined => (isDraining ? undefined : options.nextClaim(turn));

  async function run(turn: Turn): Promise<TurnEnd> {
    const end = await runOne(turn);
    const { session } = turn;
    // Later turns belong to nobody who waits here: their failure is told, not thrown.
    if (end.next !== undefined)
      runBehind(end.next).catch((error) => isClosing() || onEvent({ type: "broken", session, error }));
    return end;
  }

  async function runBehind(first: Turn, left = false): Promise<readonly TurnEnd[]> {
    const ends: TurnEnd[] = [];
    for (let turn: Turn | undefined = first; turn !== undefined; turn = ends.at(-1)?.next)
      ends.push(await runOne(turn, left));
    return ends;
  }

  /** A turn that is `left` has nobody else who waits for its answer: a shutdown ends it here. */
  async function runOne(turn: Turn, left = false): Promise<TurnEnd> {
    const { session } = turn;
    const around = options.around?.(turn) ?? {};
    const abort = new AbortController();
    if (isClosing()) abort.abort();
    let isMine = left;
    let said: AnswerDraft | undefined;
    const ending = runTurn(turn, {
      ...around,
      // Nobody has shown the notice of a fresh start with this turn: it stays due.
      ...(left && { showsNotice: false }),
      store,
      agent: options.agent(turn),
      clock,
      next: () => (claimsNext ? next(turn) : undefined),
      isLeft: () => isClosing() && !isMine,
      signal: abort.signal,
      begun: (inputs) => {
        isMine ||= inputs.some(isOwn);
        around.begun?.(inputs);
        onEvent({ type: "begun", session, inputs });
      },
      event: (event, all, keep) => {
        around.event?.(event, all, keep);
        onEvent({ ...event, session });
      },
      kept: (soFar) => {
        said = soFar;
      },
      stored: (seqs) => {
        said = undefined;
        around.stored?.(seqs);
      },
    });
    const mine = { turn, abort, done: ending.then(noop, noop) };
    running.set(session, mine);
    try {
      const end = await ending;
      around.ended?.(end);
      onEvent({ type: "ended", session, end });
      return end;
    } catch (error) {
      around.ended?.(undefined);
      // Taken up again it is another attempt: its tools may have acted, and something may have been shown.
      const again = { ...turn, attempt: turn.attempt + 1, ...(said !== undefined && { answerDraft: said }) };
      if (!isTakenOver(error) && !isClosing()) broken.set(session, again);
      throw error;
    } finally {
      if (running.get(session) === mine) running.delete(session);
    }
  }

  async function stop(which?: TurnSelector, patienceMs?: number): Promise<boolean> {
    const isMeant = ({ turn }: RunningTurn): boolean => {
      if (which === undefined) return true;
      if ("turn" in which) return which.turn === turn.number;
      if ("input" in which) return which.session === turn.session && turn.inputs.includes(which.input);
      return which.conversation === turn.conversation;
    };
    const turns = [...running.values()].filter(isMeant);
    for (const { abort } of turns) abort.abort();
    const ends = turns.map(({ done }) => done);
    await (patienceMs === undefined ? Promise.all(ends) : waitAtMost(patienceMs, ends));
    return turns.length > 0;
  }

  return {
    run,
    rerun: (turn) => runBehind(turn, true),
    endAbandoned(turn) {
      const { signal } = closing;
      const end = runTurn(turn, { store, agent: options.agent(turn), clock, next: () => undefined, signal });
      const done = end.then(noop, noop).finally(() => endings.delete(done));
      endings.add(done);
      return end;
    },
    takeUnfinished(session) {
      const turn = broken.get(session);
      broken.delete(session);
      return turn;
    },
    listUnfinished: () => [...broken.keys()],
    isRunning: (session) => (session === undefined ? running.size > 0 : running.has(session)),
    stop,
    closing: closing.signal,
    async close(graceMs = 0) {
      isDraining = true;
      if (graceMs > 0)
        await waitAtMost(
          graceMs,
          [...running.values()].map(({ done }) => done),
        );
      closing.abort();
      await stop();
      await Promise.all(endings);
    },
  };
}

/** Another runner took this process for dead and answers in its place. */
export function isTakenOver(error: unknown): boolean {
  return error instanceof PostriderError && error.code === "stale_fence";
}

export function noop(): void {}

/** Waits for all of them, or as long. */
async function waitAtMost(ms: number, all: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(all), over]);
  clearTimeout(timer);
}
