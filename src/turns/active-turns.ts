import { PostriderError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { AnswerDraft, ClaimBy, Turn } from "../core/turn.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { runTurn } from "./run-turn.ts";
import type { TurnContext, TurnEnd, TurnHooks } from "./turn-hooks.ts";

export type TurnEvent =
  | { readonly type: "started"; readonly session: string; readonly inputs: readonly Message[] }
  | ({ readonly session: string } & AgentEvent)
  | { readonly type: "ended"; readonly session: string; readonly end: TurnEnd }
  /** Postrider failed, not the agent. The turn runs again with the next message or at the next start. */
  | { readonly type: "turn_failed"; readonly session: string; readonly error: unknown };

export interface ActiveTurnsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Selects the agent that answers. */
  agent(turn: Turn): Agent;
  /** How long an answer may take. Absent: as long as it takes. */
  timeoutMs?(turn: Turn): number | undefined;
  /** Who claims the next pending message after a turn. */
  nextClaim(turn: Turn): ClaimBy;
  /** The hooks of the chat that asked. `isRecovered`: a crashed process left the turn, so nobody here asked. */
  hooks?(turn: Turn, isRecovered: boolean): TurnHooks;
  /** Whether this process continues with the next pending message after a turn, whoever sent it. */
  readonly claimsNext: boolean;
  /** Whether this process waits for the answer to this message. */
  isOwn(message: Message): boolean;
  onEvent(event: TurnEvent): void;
}

/** The turns that this process runs: one per session. */
export interface ActiveTurns {
  /** Runs a turn, then the pending messages of its session. Resolves when the first turn has ended. */
  run(turn: Turn): Promise<TurnEnd>;
  /** Runs a turn that a crashed process left, then the pending messages. Resolves with the end of each. */
  recover(turn: Turn): Promise<readonly TurnEnd[]>;
  /** Takes a turn that this process still holds because storing its end failed. The caller runs it again. */
  takeUnfinished(session: string): Turn | undefined;
  /** Sessions with such a turn. */
  listUnfinished(): readonly string[];
  isRunning(session?: string): boolean;
  count(): number;
  /** Stops the selected answers, and resolves when their ends are stored or after `timeoutMs`. False if there are none. */
  stop(selector?: TurnSelector, timeoutMs?: number): Promise<boolean>;
  /** Aborts when no further turn starts. */
  readonly closing: AbortSignal;
  /**
   * Starts no further turn. Running turns have `graceMs` to end, then they are stopped. A stopped turn is handed over if
   * nobody here waits for its answer. Pending messages stay pending.
   */
  close(graceMs?: number): Promise<void>;
}

/** One turn, by its number or by a message that it answers, or the turns of a conversation. */
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
  const unfinished = new Map<string, Turn>();
  const closing = new AbortController();
  const isClosing = (): boolean => closing.signal.aborted;
  let isDraining = false;

  async function run(turn: Turn): Promise<TurnEnd> {
    const end = await runOne(turn, false);
    const { session } = turn;
    // Nobody here waits for the turns that follow: their failure is reported, not thrown.
    if (end.next !== undefined)
      runAll(end.next, false).catch(
        (error) => isClosing() || onEvent({ type: "turn_failed", session, error }),
      );
    return end;
  }

  async function runAll(first: Turn, isRecovered: boolean): Promise<readonly TurnEnd[]> {
    const ends: TurnEnd[] = [];
    for (let turn: Turn | undefined = first; turn !== undefined; turn = ends.at(-1)?.next)
      ends.push(await runOne(turn, isRecovered));
    return ends;
  }

  async function runOne(turn: Turn, isRecovered: boolean): Promise<TurnEnd> {
    const { session } = turn;
    const hooks = options.hooks?.(turn, isRecovered) ?? {};
    const abort = new AbortController();
    if (isClosing()) abort.abort();
    // No other process waits for a recovered turn: a shutdown ends it here.
    let isMine = isRecovered;
    let draft: AnswerDraft | undefined;
    const context: TurnContext = {
      store,
      agent: options.agent(turn),
      clock,
      timeoutMs: options.timeoutMs?.(turn),
      claimNext: () => (claimsNext && !isDraining ? options.nextClaim(turn) : undefined),
      isHandedOver: () => isClosing() && !isMine,
      signal: abort.signal,
    };
    const ending = runTurn(turn, context, {
      ...hooks,
      onStart: (inputs) => {
        isMine ||= inputs.some(isOwn);
        hooks.onStart?.(inputs);
        onEvent({ type: "started", session, inputs });
      },
      onEvent: (event, text, saveDraft) => {
        hooks.onEvent?.(event, text, saveDraft);
        onEvent({ ...event, session });
      },
      onDraftSaved: (saved) => {
        draft = saved;
        hooks.onDraftSaved?.(saved);
      },
      onStored: (seqs) => {
        draft = undefined;
        hooks.onStored?.(seqs);
      },
    });
    const mine = { turn, abort, done: ending.then(noop, noop) };
    running.set(session, mine);
    try {
      const end = await ending;
      onEvent({ type: "ended", session, end });
      return end;
    } catch (error) {
      // The next run is another attempt: tools may have acted, and a part of the answer may have been shown.
      const again = {
        ...turn,
        attempt: turn.attempt + 1,
        ...(draft !== undefined && { answerDraft: draft }),
      };
      if (!isTakenOver(error) && !isClosing()) unfinished.set(session, again);
      throw error;
    } finally {
      if (running.get(session) === mine) running.delete(session);
    }
  }

  async function stop(selector?: TurnSelector, timeoutMs?: number): Promise<boolean> {
    const turns = [...running.values()].filter(({ turn }) => isSelected(turn, selector));
    for (const { abort } of turns) abort.abort();
    const ends = turns.map(({ done }) => done);
    await (timeoutMs === undefined ? Promise.all(ends) : waitAtMost(timeoutMs, ends));
    return turns.length > 0;
  }

  return {
    run,
    recover: (turn) => runAll(turn, true),
    takeUnfinished(session) {
      const turn = unfinished.get(session);
      unfinished.delete(session);
      return turn;
    },
    listUnfinished: () => [...unfinished.keys()],
    isRunning: (session) => (session === undefined ? running.size > 0 : running.has(session)),
    count: () => running.size,
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
    },
  };
}

function isSelected(turn: Turn, selector: TurnSelector | undefined): boolean {
  if (selector === undefined) return true;
  if ("turn" in selector) return selector.turn === turn.number;
  if ("input" in selector) return selector.session === turn.session && turn.inputs.includes(selector.input);
  return selector.conversation === turn.conversation;
}

/** Another runner took this process for crashed and answers instead. */
export function isTakenOver(error: unknown): boolean {
  return error instanceof PostriderError && error.code === "stale_fence";
}

/** The store of this process is closed. */
export function isStoreClosed(error: unknown): boolean {
  return error instanceof PostriderError && error.code === "closed";
}

export function noop(): void {}

/** Waits for all promises, but no longer than `ms`. */
async function waitAtMost(ms: number, all: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([Promise.all(all), over]);
  clearTimeout(timer);
}
