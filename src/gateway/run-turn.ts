import { resetNote } from "../core/context-prompt.ts";
import type { Fresh } from "../core/conversation.ts";
import { type Message, type NewMessage, text } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { unrefused } from "../core/refusal.ts";
import type { ClaimBy, Finished, Turn, TurnOutcome } from "../core/turn.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Agent, AgentEvent } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";

export interface TurnRun {
  readonly store: Store;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Who takes up what waits behind this turn, in the commit that ends it. */
  readonly next: ClaimBy;
  readonly signal: AbortSignal;
  /** Why the conversation starts afresh, if the model has not been told. */
  readonly fresh?: Fresh;
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

/**
 * Runs the agent for a claimed turn and stores how it ended. Every turn leaves an answer behind: one that was stopped
 * or failed, what had arrived, marked so. The steps are the program's own and ask for no person.
 */
export async function runTurn(turn: Turn, run: TurnRun): Promise<TurnEnd> {
  const { store, agent, clock, signal } = run;
  const shown = (await store.history({ asker: { everyone: true }, session: turn.session })) ?? [];
  run.begun?.(shown.filter(({ session, seq }) => session === turn.session && turn.inputs.includes(seq)));
  const answer = await ask(agent, turn, shown, run);
  const outcome = answer.reason !== undefined ? "failed" : signal.aborted ? "interrupted" : "done";
  const finished = unrefused(
    await store.finish({
      turn: turn.number,
      fence: turn.fence,
      outcome,
      messages: [messageOf(answer, outcome)],
      ...(answer.usage !== undefined && { usage: answer.usage }),
      shown: { note: true, notice: true },
      next: run.next,
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
  readonly text: string;
  readonly usage?: UsageDelta;
  readonly reason?: string;
}

async function ask(agent: Agent, turn: Turn, shown: readonly Message[], run: TurnRun): Promise<Answer> {
  let said = "";
  let usage: UsageDelta | undefined;
  let reason: string | undefined;
  const note = run.fresh?.noteDue ? { note: resetNote(run.fresh.reason) } : {};
  try {
    const input = { session: turn.session, history: providerHistory(shown), ...note };
    for await (const event of agent.run(input, run.signal)) {
      if (event.type === "text") said += event.text;
      else if (event.type === "usage") usage = event.usage;
      else reason = event.reason;
      run.event?.(event);
      if (run.signal.aborted) break;
    }
  } catch (error) {
    // An agent that breaks its promise must not leave the turn open.
    reason = `The agent failed: ${(error as Error).message}`;
    run.event?.({ type: "failed", reason });
  }
  return { text: said, ...(usage !== undefined && { usage }), ...(reason !== undefined && { reason }) };
}

function messageOf({ text: said, reason }: Answer, outcome: TurnOutcome): NewMessage {
  return {
    role: "assistant",
    parts: said === "" ? [] : [text(said)],
    ...(outcome !== "done" && { origin: { interrupted: true } }),
    ...(reason !== undefined && { finishReason: "error", extra: { error: reason } }),
  };
}
