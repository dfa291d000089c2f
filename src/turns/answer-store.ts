import type { NewDelivery } from "../core/delivery.ts";
import { PostriderError } from "../core/errors.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import type { AnswerDraft, Finished } from "../core/turn.ts";
import { omitPromptTokens, type UsageDelta } from "../core/usage.ts";
import { pause } from "../system/pause.ts";
import type { AgentAnswer } from "./answer-recorder.ts";
import type { TurnJob } from "./turn-hooks.ts";

/** A part of the answer cannot be stored: a failure of the store, not of the agent. `cause` is the store's error. */
export class AnswerStoreError extends Error {
  constructor(cause: unknown) {
    super("A part of the answer cannot be stored.", { cause });
  }
}

/** Stores messages of an answer that is still in progress. */
export async function storeMessages(
  job: TurnJob,
  { messages, blobs, usage }: Pick<AgentAnswer, "messages" | "blobs" | "usage">,
): Promise<void> {
  if (messages.length === 0) return;
  const { store, clock } = job.context;
  const { session, fence } = job.turn;
  const asker = { everyone: true } as const;
  const input = { asker, session, messages, blobs, fence, ...(usage !== undefined && { usage }) };
  const appended = await retryStore(async () => {
    const stored = await store.messages.append({ ...input, now: clock.now() });
    if (isRefused(stored)) await recordAbandonedUsage(job, usage);
    return throwIfRefused(stored);
  }, job);
  job.hooks.onStored?.(appended.seqs);
}

/** Stores the text since the last whole message. */
export async function storeDraft({ turn, context }: TurnJob, answerDraft: AnswerDraft): Promise<void> {
  const { number, fence } = turn;
  throwIfRefused(await context.store.turns.saveDraft({ turn: number, fence, answerDraft }));
}

/** Stores the end of a turn, with the rest of its answer and its deliveries, and claims the next turn. */
export async function storeEnd(
  job: TurnJob,
  { outcome, messages, blobs, usage }: AgentAnswer,
  deliveries: readonly NewDelivery[] | undefined,
): Promise<Finished> {
  const { turn, context, hooks } = job;
  const { store, clock } = context;
  const { number, fence, fresh } = turn;
  const finished = await retryStore(async () => {
    const next = context.claimNext();
    const ended = await store.turns.finish({
      turn: number,
      fence,
      outcome,
      messages,
      ...(blobs.length > 0 && { blobs }),
      ...(usage !== undefined && { usage }),
      ...(fresh !== undefined && {
        notified: { note: fresh.noteDue, notice: hooks.showsNotice === true && fresh.noticeDue },
      }),
      ...(deliveries !== undefined && { deliveries }),
      ...(next !== undefined && { next }),
      now: clock.now(),
    });
    if (isRefused(ended)) await recordAbandonedUsage(job, usage);
    return throwIfRefused(ended);
  }, job);
  hooks.onStored?.(finished.seqs);
  return finished;
}

/** Without the fence: tokens were used, whichever runner answers. The prompt size is that of the stored answer. */
export async function recordAbandonedUsage(
  { turn, context }: TurnJob,
  usage: UsageDelta | undefined,
): Promise<void> {
  if (usage === undefined) return;
  const { store, clock } = context;
  const used = { purpose: "answer", usage: omitPromptTokens(usage), now: clock.now() } as const;
  await store.sessions.recordUsage({ asker: { everyone: true }, session: turn.session, ...used });
}

/** Retries while the disk is full or the file is locked, if the chat can wait. */
export async function retryStore<Result>(
  step: () => Promise<Result>,
  { context, hooks }: TurnJob,
): Promise<Result> {
  const { signal } = context;
  const { onStoreDelayed } = hooks;
  for (let wait = 250; ; wait = Math.min(30_000, wait * 2)) {
    try {
      return await step();
    } catch (error) {
      const isTransient =
        error instanceof PostriderError && (error.code === "disk_full" || error.code === "busy");
      if (!isTransient || onStoreDelayed === undefined || signal.aborted) throw error;
      onStoreDelayed(error);
      await pause(wait, signal);
    }
  }
}
