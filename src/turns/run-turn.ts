import type { ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { PostriderError } from "../core/errors.ts";
import { resetNote } from "../core/fresh-words.ts";
import { type Message, type ToolCall, textOf } from "../core/message.ts";
import { EDITOR } from "../core/platforms.ts";
import { providerHistory } from "../core/projection.ts";
import { isRefused, unrefused } from "../core/refusal.ts";
import type { ClaimBy, Finished, SaidSoFar, Turn, TurnOutcome } from "../core/turn.ts";
import { joinDeltas, withoutPrompt } from "../core/usage.ts";
import type { Agent, AgentEvent, AgentTurn } from "../ports/agent.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";
import { type Answer, startsMessage, takeDown } from "./answer.ts";
import { compressIfNeeded } from "./compress.ts";
import { deadline } from "./deadline.ts";
import { eventsUntil } from "./events-until.ts";
import { messagesOf, reasonToHalt } from "./halt-turn.ts";
import { type FindSpeaker, signMessages } from "./speakers.ts";
import { type StoredFirst, storedFirst } from "./stored-first.ts";

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
  prepare?(): Promise<Prepared>;
  /** When a conversation is summed up that the model can hardly read any more, and how the person is told. */
  readonly compression?: Compressing;
  /** Asked when it was stopped: whether another runner is to take the turn up, as if this one had fallen. */
  isLeft?(): boolean;
  /** Called before the first event, with what is to be answered. */
  begun?(inputs: readonly Message[]): void;
  /** With everything said so far. A place that shows it in a chat, where it stays, calls `keep` first. */
  event?(event: AgentEvent, said: string, keep: KeepShown): void;
  /** So much of a message that is not whole yet has been stored. */
  kept?(said: SaidSoFar): void;
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
  deliveries?(answer: Answer): Promise<readonly NewDelivery[]>;
}

/** Stores what was said so far, so that a crash does not take back what is shown next. */
export type KeepShown = () => Promise<void>;

export interface Compressing {
  /** The share of the model's window. */
  readonly at: number;
  tell(notice: string): Promise<void>;
}

/** What the place adds to what an agent is told. */
export interface Prepared extends Pick<AgentTurn, "cwd" | "tools" | "terminal" | "prompt" | "changing"> {
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
  const shown = await shownIn(turn, run);
  run.begun?.(shown.filter(({ session, seq }) => session === turn.session && turn.inputs.includes(seq)));
  const first = run.storesFirst ? firstStored(turn, run) : undefined;
  const answer = await answerOf(turn, shown, { ...run, ...(first !== undefined && { first }) });
  const { outcome } = answer;
  const deliveries = await run.deliveries?.(answer);
  const finish = async (): Promise<Finished> => {
    const next = run.next();
    const finished = await store.finish({
      turn: turn.number,
      fence: turn.fence,
      outcome,
      messages: answer.messages,
      ...(answer.blobs.length > 0 && { blobs: answer.blobs }),
      ...(answer.usage !== undefined && { usage: answer.usage }),
      ...(turn.fresh !== undefined && {
        shown: { note: turn.fresh.noteDue, notice: run.showsNotice === true && turn.fresh.noticeDue },
      }),
      ...(deliveries !== undefined && { deliveries }),
      ...(next !== undefined && { next }),
      now: clock.now(),
    });
    if (isRefused(finished)) await recordAbandonedUsage(turn, answer, run);
    return unrefused(finished);
  };
  const finished = await eventually(finish, run);
  run.stored?.(finished.seqs);
  first?.stored();
  return {
    ...finished,
    outcome,
    text: answer.text,
    ...(answer.reason !== undefined && { reason: answer.reason }),
  };
}

interface Asking extends TurnRun {
  readonly first?: StoredFirst;
}

async function answerOf(turn: Turn, shown: readonly Message[], run: Asking): Promise<Answer> {
  if (isLeftByEditor(turn, run)) return takeDown(turn.said).end(true);
  const halted = turn.attempt === 1 ? undefined : await reasonToHalt(turn, shown, run);
  const answer = halted === undefined ? await answerTo(turn, shown, run) : refused(halted, turn, shown, run);
  if (answer.outcome === "interrupted" && run.isLeft?.()) {
    await recordAbandonedUsage(turn, answer, run);
    throw new PostriderError("closed", "This turn was left to another runner.");
  }
  return answer;
}

/** Without the fence: it was used, whoever answers in the end. The prompt that counts is the one of that answer. */
async function recordAbandonedUsage(
  { session }: Turn,
  { usage }: Pick<Answer, "usage">,
  { store, clock }: TurnRun,
): Promise<void> {
  if (usage === undefined) return;
  const used = { purpose: "answer", usage: withoutPrompt(usage), now: clock.now() } as const;
  await store.recordUsage({ asker: { everyone: true }, session, ...used });
}

/** Whoever asked in an editor that is gone has seen that it broke off, and will ask again if they still want to know. */
function isLeftByEditor({ target, attempt }: Turn, { storesFirst }: TurnRun): boolean {
  return target.platform === EDITOR && (attempt > 1 || storesFirst !== true);
}

function firstStored(turn: Turn, run: TurnRun): StoredFirst {
  const { store, signal } = run;
  return storedFirst({
    store,
    turn,
    signal,
    show: (event, said) => run.event?.(event, said, keptAlready),
    kept: (said) => run.kept?.(said),
    eventually: (step) => eventually(step, run),
  });
}

/** A conversation that has become too long for the model is summed up: before it is asked, or when it says so. */
async function answerTo(turn: Turn, shown: readonly Message[], run: Asking): Promise<Answer> {
  const { prepare } = run;
  const prepared = prepare === undefined ? {} : await eventually(() => prepare(), run);
  const isShorter = await sumUp(turn, run, false);
  const answer = await ask(turn, isShorter ? await shownIn(turn, run) : shown, prepared, run);
  if (!answer.tooLong || !(await sumUp(turn, run, true))) return answer;
  const second = await ask(turn, await shownIn(turn, run), prepared, run);
  if (answer.usage === undefined) return second;
  return { ...second, usage: joinDeltas(withoutPrompt(answer.usage), second.usage ?? {}) };
}

async function shownIn({ session }: Turn, { store, history }: TurnRun): Promise<readonly Message[]> {
  if (history !== undefined) return history();
  return (await store.history({ asker: { everyone: true }, session })) ?? [];
}

/** Whatever comes of it, the turn goes on. True if the session shows less now. */
async function sumUp(turn: Turn, run: TurnRun, force: boolean): Promise<boolean> {
  const { store, agent, clock, signal, compression, speaker } = run;
  if (compression === undefined) return false;
  const { session } = turn;
  const { model } = turn.settings;
  const wanted = { store, agent, clock, session, turn, share: compression.at, force, signal, speaker };
  const done = await compressIfNeeded({ ...wanted, ...(model !== undefined && { model }) });
  if (done?.notice !== undefined) await compression.tell(done.notice);
  return done?.outcome === "compressed";
}

async function ask(
  turn: Turn,
  shown: readonly Message[],
  { note, ...place }: Prepared,
  run: Asking,
): Promise<Answer> {
  const { agent, store, first } = run;
  const late = deadline(run.signal, run.longestMs);
  const { signal } = late;
  const notes = [turn.fresh?.noteDue ? resetNote(turn.fresh.reason) : undefined, note].filter(Boolean);
  const { model, reasoning } = turn.settings;
  const input: AgentTurn = {
    session: turn.session,
    history: providerHistory(signMessages(shown, run.speaker)),
    blob: (hash: string) => store.blob({ asker: { everyone: true }, hash }),
    ...place,
    ...(notes.length > 0 && { note: notes.join("\n") }),
    ...(model !== undefined && { model }),
    ...(reasoning !== undefined && { reasoning }),
  };
  const answer = takeDown();
  let storeFailure: unknown;
  const stored = async (step: Promise<unknown>): Promise<void> => {
    await step.catch((error: unknown) => {
      storeFailure = error;
      throw error;
    });
  };
  let storing: Promise<unknown> = Promise.resolve();
  const storeMessages = async (): Promise<void> => {
    first?.storing();
    isReplaced = true;
    storing = append(turn, answer.written(), run);
    await stored(storing);
  };
  /** Whether the turn's row no longer holds what an earlier attempt had shown. */
  let isReplaced = false;
  const keep: KeepShown = async () => {
    // Kept after the messages that hold it, it would be said twice.
    await storing;
    const said = answer.unwritten();
    isReplaced = true;
    unrefused(await store.keepSaid({ turn: turn.number, fence: turn.fence, said }));
  };
  try {
    for await (const event of eventsUntil(signal, agent.run(input, signal))) {
      // What is said or goes wrong after it was stopped is no longer part of the answer.
      if (signal.aborted && event.type !== "usage") continue;
      if (first !== undefined && startsMessage(answer.soFar(), event)) {
        await storeMessages();
        first.stored();
      }
      answer.take(event);
      if (event.type === "model_part") continue; // stored with its message, and shown to nobody
      // Stored before it acts: it does so only when the next event is asked for.
      if (isWhole(event, first !== undefined)) await storeMessages();
      if (first !== undefined && isGrowth(event)) {
        first.grow(event, answer.text(), answer.soFar());
        if (first.failure() !== undefined) await stored(Promise.reject(first.failure()));
        continue;
      }
      if (isWhole(event, true)) first?.stored();
      else await first?.settle();
      if (event.type === "approval") answerApproval(event, turn, run, signal);
      run.event?.(event, answer.text(), keep);
    }
  } catch (error) {
    // The store's own failures are not the agent's: the turn stays open, to be taken up again.
    if (storeFailure !== undefined) throw storeFailure;
    // An agent that breaks its promise must not leave the turn open.
    if (!signal.aborted) {
      const failed = { type: "failed", reason: `The agent failed: ${messageIn(error)}` } as const;
      answer.take(failed);
      run.event?.(failed, answer.text(), keep);
    }
  } finally {
    late.forget();
  }
  if (late.isOver()) {
    const minutes = Math.max(1, Math.round((run.longestMs ?? 0) / 60_000));
    const reason = `The answer took longer than ${minutes} min and was given up.`;
    answer.take({ type: "failed", reason });
    run.event?.({ type: "failed", reason }, answer.text(), keep);
  }
  const end = answer.end(signal.aborted);
  return end.outcome === "done" || isReplaced || turn.said === undefined ? end : endWith(turn.said, end);
}

/** The person still sees what an earlier attempt had said: that stays the answer, and ends as this attempt did. */
function endWith(said: SaidSoFar, { outcome, usage, reason, tooLong }: Answer): Answer {
  const answer = takeDown(said);
  if (usage !== undefined) answer.take({ type: "usage", usage });
  if (reason !== undefined) answer.take({ type: "failed", reason });
  return { ...answer.end(outcome === "interrupted"), ...(tooLong && { tooLong }) };
}

/** Whether a message is whole with it that is to be stored now: what acts, always; anything, where it is shown after. */
function isWhole(event: AgentEvent, storesFirst: boolean): boolean {
  if (event.type === "tool_call") return storesFirst || event.call.effect === "external";
  return storesFirst && (event.type === "tool_result" || event.type === "message");
}

function isGrowth({ type }: AgentEvent): boolean {
  return type === "text" || type === "thought" || type === "plan";
}

async function append(
  turn: Turn,
  { messages, blobs, usage }: Pick<Answer, "messages" | "blobs" | "usage">,
  run: TurnRun,
): Promise<void> {
  if (messages.length === 0) return;
  const { store, clock } = run;
  const { session, fence } = turn;
  const asker = { everyone: true } as const;
  const counted = usage === undefined ? {} : { usage };
  const grown = { asker, session, messages, blobs, fence, ...counted };
  const appended = await eventually(async () => {
    const stored = await store.append({ ...grown, now: clock.now() });
    if (isRefused(stored)) await recordAbandonedUsage(turn, counted, run);
    return unrefused(stored);
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
async function eventually<Result>(
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
function refused(reason: string, turn: Turn, shown: readonly Message[], run: TurnRun): Answer {
  const earlier = messagesOf(turn, shown).filter(({ role }) => role === "assistant");
  const answer = takeDown(turn.said, earlier.map(textOf).filter(Boolean).join("\n\n"));
  answer.take({ type: "failed", reason });
  run.event?.({ type: "failed", reason }, answer.text(), keptAlready);
  return answer.end(false);
}

const keptAlready: KeepShown = () => Promise.resolve();

function messageIn(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
