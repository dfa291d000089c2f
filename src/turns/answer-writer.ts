import { getText, type Message } from "../core/message.ts";
import type { AgentEvent } from "../ports/agent.ts";
import { type AgentAnswer, type AnswerRecorder, answerRecorder } from "./answer-recorder.ts";
import { AnswerStoreError, retryStore, storeDraft, storeMessages } from "./answer-store.ts";
import { selectTurnMessages } from "./halt-turn.ts";
import type { SaveDraft, TurnJob } from "./turn-hooks.ts";
import { type AnswerStage, type StageOptions, writeAhead } from "./write-ahead.ts";

/** Records, stores and shows the answer of one turn. Until `start`, it holds the answer of the earlier attempts. */
export interface AnswerWriter {
  /** Starts the answer from the beginning; the signal stops it. */
  start(signal: AbortSignal): void;
  /** Resolves when the agent may continue. Rejects with `AnswerStoreError` when the store fails. */
  write(event: AgentEvent): Promise<void>;
  /** The answer fails for a reason that the agent did not report. */
  fail(reason: string): void;
  end(isStopped: boolean): AgentAnswer;
  /** The end of the turn is stored: shows the events that were pending. */
  release(): void;
}

export function createAnswerWriter(job: TurnJob, history: readonly Message[]): AnswerWriter {
  const { turn, context, hooks } = job;
  let recorder = recordEarlierAttempts(job, history);
  let signal = context.signal;
  let isStarted = false;
  /** Whether the turn's row no longer holds the draft of an earlier attempt. */
  let isReplaced = false;
  let storing: Promise<void> = Promise.resolve();

  const saveDraft: SaveDraft = async () => {
    // A draft that is stored after the messages that contain it would repeat them.
    await storing;
    const draft = recorder.getUnsaved();
    isReplaced = true;
    await storeDraft(job, draft);
  };
  function show(event: AgentEvent, text: string): void {
    if (event.type === "approval") answerApproval(event, job, signal);
    hooks.onEvent?.(event, text, saveDraft);
  }
  const options: StageOptions = {
    recorder: () => recorder,
    async storeMessages() {
      isReplaced = true;
      storing = storeMessages(job, recorder.drainMessages());
      await storing.catch((error: unknown) => {
        throw new AnswerStoreError(error);
      });
    },
    storeDraft: (draft) => storeDraft(job, draft),
    retry: (step) => retryStore(step, job),
    show,
    onDraftSaved: (draft) => hooks.onDraftSaved?.(draft),
    signal: context.signal,
  };
  const stage = hooks.writeAhead ? writeAhead(options) : storeExternalCalls(options);

  return {
    start(stopSignal) {
      [recorder, signal, isStarted] = [answerRecorder(), stopSignal, true];
    },
    write: stage.push,
    fail(reason) {
      recorder.record({ type: "failed", reason });
      show({ type: "failed", reason }, recorder.text());
    },
    end(isStopped) {
      const end = recorder.end(isStopped);
      const isEarlierShown = isStarted && !isReplaced && turn.answerDraft !== undefined;
      return end.outcome !== "done" && isEarlierShown ? endEarlierAttempt(job, history, end) : end;
    },
    release: stage.release,
  };
}

/** Shows every event at once, and stores the calls of tools with external effects before they run. */
function storeExternalCalls({ recorder, storeMessages: store, show }: StageOptions): AnswerStage {
  return {
    async push(event) {
      recorder().record(event);
      if (event.type === "model_part") return; // stored with its message, never shown
      if (event.type === "tool_call" && event.call.effect === "external") await store();
      show(event, recorder().text());
    },
    release() {},
  };
}

/** The answer as the earlier attempts stored and showed it; empty in a first attempt. */
function recordEarlierAttempts({ turn }: TurnJob, history: readonly Message[]): AnswerRecorder {
  const messages = selectTurnMessages(turn, history).filter(({ role }) => role === "assistant");
  return answerRecorder(turn.answerDraft, messages.map(getText).filter(Boolean).join("\n\n"));
}

/** The person still sees the answer of an earlier attempt: it stays, with the outcome of this attempt. */
function endEarlierAttempt(
  job: TurnJob,
  history: readonly Message[],
  { outcome, usage, reason, tooLong }: AgentAnswer,
): AgentAnswer {
  const earlier = recordEarlierAttempts(job, history);
  if (usage !== undefined) earlier.record({ type: "usage", usage });
  if (reason !== undefined) earlier.record({ type: "failed", reason });
  return { ...earlier.end(outcome === "interrupted"), ...(tooLong && { tooLong }) };
}

function answerApproval(
  event: Extract<AgentEvent, { readonly type: "approval" }>,
  { turn, hooks }: TurnJob,
  signal: AbortSignal,
): void {
  const mode = signal.aborted ? "deny" : (turn.settings.approvals ?? "ask");
  const asked = mode === "ask" ? hooks.approve?.(event.request, signal, event.call) : undefined;
  if (asked === undefined) event.answer(mode === "allow" ? "once" : mode === "ask" ? "unasked" : "deny");
  else
    asked.then(
      (answer) => event.answer(answer === "never" ? "deny" : answer),
      () => event.answer("deny"),
    );
}
