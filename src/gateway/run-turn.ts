import { resetNote } from "../core/context-prompt.ts";
import type { Fresh } from "../core/conversation.ts";
import { PostriderError } from "../core/errors.ts";
import { MAX_PART_BYTES, type Message, type NewMessage, text } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { unrefused } from "../core/refusal.ts";
import type { ClaimBy, Finished, Turn, TurnOutcome } from "../core/turn.ts";
import { addUsage, emptyUsage, type UsageDelta } from "../core/usage.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { eventsUntil } from "./events-until.ts";

export interface TurnRun {
  readonly store: Store;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Who takes up what waits behind this turn, in the commit that ends it; nobody, if nothing more is to begin here. */
  next(): ClaimBy | undefined;
  readonly signal: AbortSignal;
  /** Why the conversation starts afresh, if the model has not been told. */
  readonly fresh?: Fresh;
  /** Asked when it was stopped: whether another runner is to take the turn up, as if this one had fallen. */
  isLeft?(): boolean;
  /** Called before the first event, with what is to be answered. */
  begun?(inputs: readonly Message[]): void;
  event?(event: AgentEvent): void;
}

export interface TurnEnd extends Finished {
  readonly outcome: TurnOutcome;
  readonly text: string;
  /** What to tell the person when it failed. */
  readonly reason?: string;
}

/** A turn that brought its process down twice would bring down the next one, too. */
const MOST_ATTEMPTS = 2;
/** One character may take three bytes. */
const LONGEST_ANSWER = Math.floor(MAX_PART_BYTES / 3);

/**
 * Runs the agent for a claimed turn and stores how it ended. Every turn leaves an answer behind: one that was stopped
 * or failed, what had arrived, marked so. The steps are the program's own and ask for no person.
 */
export async function runTurn(turn: Turn, run: TurnRun): Promise<TurnEnd> {
  const { store, agent, clock, fresh } = run;
  const shown = (await store.history({ asker: { everyone: true }, session: turn.session })) ?? [];
  run.begun?.(shown.filter(({ session, seq }) => session === turn.session && turn.inputs.includes(seq)));
  const answer =
    turn.attempt > MOST_ATTEMPTS ? givenUp(turn.attempt - 1, run) : await ask(agent, turn, shown, run);
  const { outcome } = answer;
  if (outcome === "interrupted" && run.isLeft?.())
    throw new PostriderError("closed", "This turn was left to another runner.");
  const next = run.next();
  const finished = unrefused(
    await store.finish({
      turn: turn.number,
      fence: turn.fence,
      outcome,
      messages: [messageOf(answer)],
      ...(answer.usage !== undefined && { usage: answer.usage }),
      // Only what was told here: a turn that is run again after a crash does not know of the fresh start.
      ...(fresh !== undefined && { shown: { note: fresh.noteDue, notice: fresh.noticeDue } }),
      ...(next !== undefined && { next }),
      now: clock.now(),
    }),
  );
  return {
    ...finished,
    outcome,
    text: answer.text,
    ...(answer.reason !== undefined && { reason: answer.reason }),
  };
}

interface Answer {
  readonly outcome: TurnOutcome;
  readonly text: string;
  readonly thought?: string;
  readonly usage?: UsageDelta;
  readonly reason?: string;
}

async function ask(agent: Agent, turn: Turn, shown: readonly Message[], run: TurnRun): Promise<Answer> {
  const { signal } = run;
  let said = "";
  let thought = "";
  let usage: UsageDelta | undefined;
  let reason: string | undefined;
  const note = run.fresh?.noteDue ? { note: resetNote(run.fresh.reason) } : {};
  try {
    const blob = (hash: string) => run.store.blob({ asker: { everyone: true }, hash });
    const input = { session: turn.session, history: providerHistory(shown), blob, ...note };
    for await (const event of eventsUntil(signal, agent.run(input, signal))) {
      if (event.type === "usage") usage = together(usage, event.usage);
      // What is said or goes wrong after it was stopped is no longer part of the answer.
      if (signal.aborted) continue;
      if (event.type === "text") said += event.text;
      else if (event.type === "thought") thought += event.text;
      else if (event.type === "failed") reason = event.reason;
      run.event?.(event);
      if (said.length > LONGEST_ANSWER) throw new Error("its answer is too long to be kept whole");
    }
  } catch (error) {
    // An agent that breaks its promise must not leave the turn open.
    if (!signal.aborted) {
      said = said.slice(0, LONGEST_ANSWER);
      reason = `The agent failed: ${messageIn(error)}`;
      run.event?.({ type: "failed", reason });
    }
  }
  const outcome = reason !== undefined ? "failed" : signal.aborted ? "interrupted" : "done";
  return {
    outcome,
    text: said,
    ...(thought !== "" && { thought: thought.slice(0, LONGEST_ANSWER) }),
    ...(usage !== undefined && { usage }),
    ...(reason !== undefined && { reason }),
  };
}

function givenUp(attempts: number, run: TurnRun): Answer {
  const reason = `Postrider ended ${attempts} times while this was being answered, so it was not tried again.`;
  run.event?.({ type: "failed", reason });
  return { outcome: "failed", text: "", reason };
}

/** What several model calls of one turn used. Throws for numbers that no model uses, before they reach the store. */
function together(earlier: UsageDelta | undefined, more: UsageDelta): UsageDelta {
  const before = earlier ?? {};
  const { lastPromptTokens = before.lastPromptTokens, costStatus = before.costStatus } = more;
  const { lastPromptTokens: _, costStatus: __, ...sum } = addUsage(addUsage(emptyUsage(), before), more);
  return {
    ...sum,
    ...(lastPromptTokens !== undefined && { lastPromptTokens }),
    ...(costStatus !== undefined && { costStatus }),
  };
}

function messageIn(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function messageOf({ text: said, thought, reason, outcome }: Answer): NewMessage {
  return {
    role: "assistant",
    parts: said === "" ? [] : [text(said.toWellFormed())],
    ...(thought !== undefined && { reasoning: thought.toWellFormed() }),
    ...(outcome !== "done" && { origin: { interrupted: true } }),
    ...(reason !== undefined && { finishReason: "error", extra: { error: reason } }),
  };
}
