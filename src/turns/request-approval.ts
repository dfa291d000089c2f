import type { Approval, ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import { SYSTEM } from "../core/owner.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { awaitChange } from "../sessions/await-change.ts";

/** A question that nobody answers in this time is answered with no. */
const APPROVAL_TIMEOUT_MS = 5 * 60_000;
/** Smaller steps of the system clock are left alone. */
const MIN_CLOCK_STEP_MS = 2000;

export interface ApprovalOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Puts the question to the person. They may answer it anywhere. */
  sendQuestion(asked: Approval): Promise<void>;
  /** Told when nobody answered in time. */
  onExpired?(asked: Approval): Promise<void>;
  /** Asked when it was stopped: whether another runner takes the turn up, so that the question stays open. */
  isHandedOver?(): boolean;
}

/**
 * The question is a row before it is put; then it waits for the answer, given anywhere, or in vain. What the turn has asked
 * before it fell is not put twice, and may have been answered meanwhile.
 */
export async function requestApproval(
  asking: ApprovalOptions,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const { store, clock, sendQuestion } = asking;
  const now = clock.now();
  const { number, fence } = turn;
  const deadline = now + APPROVAL_TIMEOUT_MS;
  const asked = await store.access.createApproval({ turn: number, fence, request, deadline, now });
  if (isRefused(asked)) return "deny";
  if (asked.answer !== undefined) return asked.answer;
  const { person, session } = asked;
  const { pattern, folder } = request;
  const where = { person, session, ...(folder !== undefined && { folder }) };
  const before =
    pattern === undefined ? undefined : await store.access.checkApprovalRules({ ...where, pattern });
  if (before !== undefined) {
    const answer = before === "allowed" ? "once" : "deny";
    await store.access.answerApproval({ person, approval: asked.number, answer, now });
    return answer;
  }
  if (!asked.isPosted) await sendQuestion(asked);
  const answer = await waitForAnswer(asking, asked, signal);
  if (answer === "expired" && !signal.aborted) await asking.onExpired?.(asked);
  return answer;
}

async function waitForAnswer(
  { store, clock, isHandedOver }: ApprovalOptions,
  asked: Approval,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const left = Math.min(Math.max(0, asked.deadline - clock.now()), APPROVAL_TIMEOUT_MS);
  const until = clock.monotonic() + left;
  let stored = asked.deadline;
  for (;;) {
    const change = awaitChange(store, signal);
    try {
      const { answer } = (await store.access.getApproval({ asker: SYSTEM, approval: asked.number })) ?? {
        answer: "deny",
      };
      if (answer !== undefined) return answer;
      if (signal.aborted && isHandedOver?.()) return "deny";
      // What nobody waits for any more must not be allowed later, as if that still did something.
      if (signal.aborted || clock.monotonic() >= until) {
        const { person, number: approval } = asked;
        const closed = await store.access.answerApproval({
          person,
          approval,
          answer: "expired",
          now: clock.now(),
        });
        // Answered in that very moment: that counts.
        if (isRefused(closed) && closed.refused === "not_allowed") continue;
        return signal.aborted ? "deny" : "expired";
      }
      // People answer by the system clock: what is stored follows when that was set.
      const deadline = Math.round(clock.now() + until - clock.monotonic());
      if (Math.abs(deadline - stored) > MIN_CLOCK_STEP_MS) {
        await store.access.moveApprovalDeadline({ approval: asked.number, deadline });
        stored = deadline;
      }
      await change.happened;
    } finally {
      change.forget();
    }
  }
}
