import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { PostriderError } from "../core/errors.ts";
import { getText, type Message, type ToolCall } from "../core/message.ts";
import { EDITOR_PLATFORM } from "../core/platforms.ts";
import { providerHistory } from "../core/projection.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import { resetNote } from "../core/reset-notice.ts";
import type { AnswerDraft, ClaimBy, Finished, Turn, TurnOutcome } from "../core/turn.ts";
import { joinDeltas, omitPromptTokens } from "../core/usage.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";
import { type AgentAnswer, answerRecorder, needsNewMessage } from "./answer-recorder.ts";
import { compressIfNeeded } from "./compress.ts";
import { startDeadline } from "./deadline.ts";
import { findHaltReason, selectTurnMessages } from "./halt-turn.ts";
import { readEventsUntil } from "./read-events-until.ts";
import { addSpeakerNames, type FindSpeaker } from "./speakers.ts";
import { type WriteAhead, writeAhead } from "./write-ahead.ts";

export interface TurnRun {
  readonly store: Store;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Who takes up what waits behind this turn, in the commit that ends it; nobody, if nothing more is to begin here. */
  next(): ClaimBy | undefined;
  readonly signal: AbortSignal;
  /** An answer that takes longer is given up. */
  readonly longestMs?: number;
  /** Who said a message, where several people share the conversation: the model is told. */
  readonly speaker?: FindSpeaker;
  /** Whether the place shows the person the notice of a fresh start with this turn. */
  readonly showsNotice?: boolean;
  /**
   * Whether nothing is shown that is not stored, as in an editor: whoever opens the session after a crash finds all they
   * have seen, and is not answered again unasked.
   */
  readonly storesFirst?: boolean;
  /** What the session shows, where the place knows a shorter way to it than reading it all. */
  history?(): Promise<readonly Message[]>;
  /** Called before the agent is asked: what the place has to say or do first. */
  prepare?(): Promise<PreparedTurn>;
  /** When a conversation is summed up that the model can hardly read any more, and how the person is told. */
  readonly compression?: CompressionSettings;
  /** Asked when it was stopped: whether another runner is to take the turn up, as if this one had fallen. */
  isLeft?(): boolean;
  /** Called before the first event, with what is to be answered. */
  begun?(inputs: readonly Message[]): void;
  /** With everything said so far. A place that shows it in a chat, where it stays, calls `keep` first. */
  event?(event: AgentEvent, said: string, keep: SaveDraft): void;
  /** So much of a message that is not whole yet has been stored. */
  kept?(said: AnswerDraft): void;
  /** Messages of the answer have been stored, with these seqs. */
  stored?(seqs: readonly number[]): void;
  /** Asks the person, for as long as the signal does not abort; without it, nothing is allowed. */
  approve?(request: ApprovalRequest, signal: AbortSignal, call?: ToolCall): Promise<ApprovalOutcome>;
  /**
   * Whether what cannot be stored now, because the disk is full or held by another, is stored when it can be, and the turn
   * waits for that. Told each time it could not be.
   */
  storeLater?(error: PostriderError): void;
  /** What leaves for a platform, stored in the commit that ends the turn. */
  deliveries?(answer: AgentAnswer): Promise<readonly NewDelivery[]>;
}

/** Stores what was said so far, so that a crash does not take back what is shown next. */
export type SaveDraft = () => Promise<void>;

export interface CompressionSettings {
  /** The share of the model's window. */
  readonly at: number;
  notify(notice: string): Promise<void>;
}

/** What the place adds to what an agent is told. */
export interface PreparedTurn
  extends Pick<AgentTurn, "cwd" | "tools" | "terminal" | "prompt" | "volatilePrompt"> {
  /** Told to the model once, besides the note of a fresh start. */
  readonly note?: string;
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
  const { store, clock } = run;
  const shown = await readTurnHistory(turn, run);
  run.begun?.(shown.filter(({ session, seq }) => session === turn.session && turn.inputs.includes(seq)));
  const first = run.storesFirst ? startWriteAhead(turn, run) : undefined;
  const answer = await resolveAnswer(turn, shown, {
    ...run,
    ...(first !== undefined && { writeAhead: first }),
  });
  const { outcome } = answer;
  const deliveries = await run.deliveries?.(answer);
  const finish = async (): Promise<Finished> => {
    const next = run.next();
    const finished = await store.turns.finish({
      turn: turn.number,
      fence: turn.fence,
      outcome,
      messages: answer.messages,
      ...(answer.blobs.length > 0 && { blobs: answer.blobs }),
      ...(answer.usage !== undefined && { usage: answer.usage }),
      ...(turn.fresh !== undefined && {
        notified: { note: turn.fresh.noteDue, notice: run.showsNotice === true && turn.fresh.noticeDue },
      }),
      ...(deliveries !== undefined && { deliveries }),
      ...(next !== undefined && { next }),
      now: clock.now(),
    });
    if (isRefused(finished)) await recordAbandonedUsage(turn, answer, run);
    return throwIfRefused(finished);
  };
  const finished = await retryStore(finish, run);
  run.stored?.(finished.seqs);
  first?.endStore();
  return {
    ...finished,
    outcome,
    text: answer.text,
    ...(answer.reason !== undefined && { reason: answer.reason }),
  };
}

interface AnswerRun extends TurnRun {
  readonly writeAhead?: WriteAhead;
}

async function resolveAnswer(turn: Turn, shown: readonly Message[], run: AnswerRun): Promise<AgentAnswer> {
  if (isAbandonedByEditor(turn, run)) return answerRecorder(turn.answerDraft).end(true);
  const halted = turn.attempt === 1 ? undefined : await findHaltReason(turn, shown, run);
  const answer =
    halted === undefined ? await answerTurn(turn, shown, run) : haltAnswer(halted, turn, shown, run);
  if (answer.outcome === "interrupted" && run.isLeft?.()) {
    await recordAbandonedUsage(turn, answer, run);
    throw new PostriderError("closed", "This turn was left to another runner.");
  }
  return answer;
}

/** Without the fence: it was used, whoever answers in the end. The prompt that counts is the one of that answer. */
async function recordAbandonedUsage(
  { session }: Turn,
  { usage }: Pick<AgentAnswer, "usage">,
  { store, clock }: TurnRun,
): Promise<void> {
  if (usage === undefined) return;
  const used = { purpose: "answer", usage: omitPromptTokens(usage), now: clock.now() } as const;
  await store.sessions.recordUsage({ asker: { everyone: true }, session, ...used });
}

/** Whoever asked in an editor that is gone has seen that it broke off, and will ask again if they still want to know. */
function isAbandonedByEditor({ target, attempt }: Turn, { storesFirst }: TurnRun): boolean {
  return target.platform === EDITOR_PLATFORM && (attempt > 1 || storesFirst !== true);
}

function startWriteAhead(turn: Turn, run: TurnRun): WriteAhead {
  const { store, signal } = run;
  return writeAhead({
    store,
    turn,
    signal,
    show: (event, said) => run.event?.(event, said, skipSave),
    onSaved: (said) => run.kept?.(said),
    retry: (step) => retryStore(step, run),
  });
}

/** A conversation that has become too long for the model is summed up: before it is asked, or when it says so. */
async function answerTurn(turn: Turn, shown: readonly Message[], run: AnswerRun): Promise<AgentAnswer> {
  const { prepare } = run;
  const prepared = prepare === undefined ? {} : await retryStore(() => prepare(), run);
  const isShorter = await compressSession(turn, run, false);
  const answer = await runAgent(turn, isShorter ? await readTurnHistory(turn, run) : shown, prepared, run);
  if (!answer.tooLong || !(await compressSession(turn, run, true))) return answer;
  const second = await runAgent(turn, await readTurnHistory(turn, run), prepared, run);
  if (answer.usage === undefined) return second;
  return { ...second, usage: joinDeltas(omitPromptTokens(answer.usage), second.usage ?? {}) };
}

async function readTurnHistory({ session }: Turn, { store, history }: TurnRun): Promise<readonly Message[]> {
  if (history !== undefined) return history();
  return (await store.messages.readHistory({ asker: { everyone: true }, session })) ?? [];
}

/** Whatever comes of it, the turn goes on. True if the session shows less now. */
async function compressSession(turn: Turn, run: TurnRun, force: boolean): Promise<boolean> {
  const { store, agent, clock, signal, compression, speaker } = run;
  if (compression === undefined) return false;
  const { session } = turn;
  const { model } = turn.settings;
  const wanted = { store, agent, clock, session, turn, share: compression.at, force, signal, speaker };
  const done = await compressIfNeeded({ ...wanted, ...(model !== undefined && { model }) });
  if (done?.notice !== undefined) await compression.notify(done.notice);
  return done?.outcome === "compressed";
}

async function runAgent(
  turn: Turn,
  shown: readonly Message[],
  { note, ...place }: PreparedTurn,
  run: AnswerRun,
): Promise<AgentAnswer> {
  const { agent, store, writeAhead: first } = run;
  const late = startDeadline(run.signal, run.longestMs);
  const { signal } = late;
  const notes = [turn.fresh?.noteDue ? resetNote(turn.fresh.reason) : undefined, note].filter(Boolean);
  const { model, reasoning } = turn.settings;
  const input: AgentTurn = {
    session: turn.session,
    history: providerHistory(addSpeakerNames(shown, run.speaker)),
    blob: (hash: string) => store.messages.readBlob({ asker: { everyone: true }, hash }),
    ...place,
    ...(notes.length > 0 && { note: notes.join("\n") }),
    ...(model !== undefined && { model }),
    ...(reasoning !== undefined && { reasoning }),
  };
  const answer = answerRecorder();
  let storeFailure: unknown;
  const stored = async (step: Promise<unknown>): Promise<void> => {
    await step.catch((error: unknown) => {
      storeFailure = error;
      throw error;
    });
  };
  let storing: Promise<unknown> = Promise.resolve();
  const storeMessages = async (): Promise<void> => {
    first?.beginStore();
    isReplaced = true;
    storing = appendMessages(turn, answer.drainMessages(), run);
    await stored(storing);
  };
  /** Whether the turn's row no longer holds what an earlier attempt had shown. */
  let isReplaced = false;
  const keep: SaveDraft = async () => {
    // Kept after the messages that hold it, it would be said twice.
    await storing;
    const said = answer.getUnsaved();
    isReplaced = true;
    throwIfRefused(await store.turns.saveDraft({ turn: turn.number, fence: turn.fence, answerDraft: said }));
  };
  try {
    for await (const event of readEventsUntil(signal, agent.run(input, signal))) {
      // What is said or goes wrong after it was stopped is no longer part of the answer.
      if (signal.aborted && event.type !== "usage") continue;
      if (first !== undefined && needsNewMessage(answer.getPartial(), event)) {
        await storeMessages();
        first.endStore();
      }
      answer.record(event);
      if (event.type === "model_part") continue; // stored with its message, and shown to nobody
      // Stored before it acts: it does so only when the next event is asked for.
      if (isMessageEnd(event, first !== undefined)) await storeMessages();
      if (first !== undefined && isGrowth(event)) {
        first.append(event, answer.text(), answer.getPartial());
        if (first.failure() !== undefined) await stored(Promise.reject(first.failure()));
        continue;
      }
      if (isMessageEnd(event, true)) first?.endStore();
      else await first?.flush();
      if (event.type === "approval") answerApproval(event, turn, run, signal);
      run.event?.(event, answer.text(), keep);
    }
  } catch (error) {
    // The store's own failures are not the agent's: the turn stays open, to be taken up again.
    if (storeFailure !== undefined) throw storeFailure;
    // An agent that breaks its promise must not leave the turn open.
    if (!signal.aborted) {
      const failed = { type: "failed", reason: `The agent failed: ${formatError(error)}` } as const;
      answer.record(failed);
      run.event?.(failed, answer.text(), keep);
    }
  } finally {
    late.cancel();
  }
  if (late.isExpired()) {
    const minutes = Math.max(1, Math.round((run.longestMs ?? 0) / 60_000));
    const reason = `The answer took longer than ${minutes} min and was given up.`;
    answer.record({ type: "failed", reason });
    run.event?.({ type: "failed", reason }, answer.text(), keep);
  }
  const end = answer.end(signal.aborted);
  return end.outcome === "done" || isReplaced || turn.answerDraft === undefined
    ? end
    : endWithDraft(turn.answerDraft, end);
}

/** The person still sees what an earlier attempt had said: that stays the answer, and ends as this attempt did. */
function endWithDraft(said: AnswerDraft, { outcome, usage, reason, tooLong }: AgentAnswer): AgentAnswer {
  const answer = answerRecorder(said);
  if (usage !== undefined) answer.record({ type: "usage", usage });
  if (reason !== undefined) answer.record({ type: "failed", reason });
  return { ...answer.end(outcome === "interrupted"), ...(tooLong && { tooLong }) };
}

/** Whether a message is whole with it that is to be stored now: what acts, always; anything, where it is shown after. */
function isMessageEnd(event: AgentEvent, storesFirst: boolean): boolean {
  if (event.type === "tool_call") return storesFirst || event.call.effect === "external";
  return storesFirst && (event.type === "tool_result" || event.type === "message");
}

function isGrowth({ type }: AgentEvent): boolean {
  return type === "text" || type === "thought" || type === "plan";
}

async function appendMessages(
  turn: Turn,
  { messages, blobs, usage }: Pick<AgentAnswer, "messages" | "blobs" | "usage">,
  run: TurnRun,
): Promise<void> {
  if (messages.length === 0) return;
  const { store, clock } = run;
  const { session, fence } = turn;
  const asker = { everyone: true } as const;
  const counted = usage === undefined ? {} : { usage };
  const grown = { asker, session, messages, blobs, fence, ...counted };
  const appended = await retryStore(async () => {
    const stored = await store.messages.append({ ...grown, now: clock.now() });
    if (isRefused(stored)) await recordAbandonedUsage(turn, counted, run);
    return throwIfRefused(stored);
  }, run);
  run.stored?.(appended.seqs);
}

function answerApproval(
  event: Extract<AgentEvent, { readonly type: "approval" }>,
  { settings }: Turn,
  run: TurnRun,
  signal: AbortSignal,
): void {
  const mode = signal.aborted ? "deny" : (settings.approvals ?? "ask");
  const asked = mode === "ask" ? run.approve?.(event.request, signal, event.call) : undefined;
  if (asked === undefined) event.answer(mode === "allow" ? "once" : mode === "ask" ? "unasked" : "deny");
  else
    asked.then(
      (given) => event.answer(given === "never" ? "deny" : given),
      () => event.answer("deny"),
    );
}

/** Does it again for as long as a disk or another process stands in the way, where the place can wait. */
async function retryStore<Result>(
  step: () => Promise<Result>,
  { storeLater, signal }: TurnRun,
): Promise<Result> {
  for (let wait = 250; ; wait = Math.min(30_000, wait * 2)) {
    try {
      return await step();
    } catch (error) {
      const isPassing =
        error instanceof PostriderError && (error.code === "disk_full" || error.code === "busy");
      if (!isPassing || storeLater === undefined || signal.aborted) throw error;
      storeLater(error);
      await pause(wait, signal);
    }
  }
}

/** Ends with what an earlier attempt had said and shown: it stays, and the reason follows it. */
function haltAnswer(reason: string, turn: Turn, shown: readonly Message[], run: TurnRun): AgentAnswer {
  const earlier = selectTurnMessages(turn, shown).filter(({ role }) => role === "assistant");
  const answer = answerRecorder(turn.answerDraft, earlier.map(getText).filter(Boolean).join("\n\n"));
  answer.record({ type: "failed", reason });
  run.event?.({ type: "failed", reason }, answer.text(), skipSave);
  return answer.end(false);
}

const skipSave: SaveDraft = () => Promise.resolve();

function formatError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
