import type { Approval, ApprovalOutcome, ApprovalRequest } from "../core/approval.ts";
import { SYSTEM } from "../core/owner.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { awaitChange } from "../sessions/await-change.ts";

/** A request without an answer in this time is denied. */
const APPROVAL_TIMEOUT_MS = 5 * 60_000;
/** Smaller changes of the system clock do not move the deadline. */
const MIN_CLOCK_STEP_MS = 2000;

export interface ApprovalOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Sends the question to the person, who may answer it in any chat. */
  sendQuestion(approval: Approval): Promise<void>;
  /** Called when there was no answer in time. */
  onExpired?(approval: Approval): Promise<void>;
  /** Whether another runner continues a stopped turn: then the question stays open. */
  isHandedOver?(): boolean;
}

/**
 * Stores the question, sends it and waits for the answer. A question that the turn sent before a crash is not sent again,
 * and may have an answer already.
 */
export async function requestApproval(
  options: ApprovalOptions,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const { store, clock, sendQuestion } = options;
  const now = clock.now();
  const { number, fence } = turn;
  const deadline = now + APPROVAL_TIMEOUT_MS;
  const approval = await store.access.createApproval({ turn: number, fence, request, deadline, now });
  if (isRefused(approval)) return "deny";
  if (approval.answer !== undefined) return approval.answer;
  const { person, session } = approval;
  const { pattern, folder } = request;
  const where = { person, session, ...(folder !== undefined && { folder }) };
  const before =
    pattern === undefined ? undefined : await store.access.checkApprovalRules({ ...where, pattern });
  if (before !== undefined) {
    const answer = before === "allowed" ? "once" : "deny";
    await store.access.answerApproval({ person, approval: approval.number, answer, now });
    return answer;
  }
  if (!approval.isPosted) await sendQuestion(approval);
  const answer = await waitForAnswer(options, approval, signal);
  if (answer === "expired" && !signal.aborted) await options.onExpired?.(approval);
  return answer;
}

async function waitForAnswer(
  { store, clock, isHandedOver }: ApprovalOptions,
  approval: Approval,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const left = Math.min(Math.max(0, approval.deadline - clock.now()), APPROVAL_TIMEOUT_MS);
  const until = clock.monotonic() + left;
  let stored = approval.deadline;
  for (;;) {
    const change = awaitChange(store, signal);
    try {
      const { answer } = (await store.access.getApproval({ asker: SYSTEM, approval: approval.number })) ?? {
        answer: "deny",
      };
      if (answer !== undefined) return answer;
      if (signal.aborted && isHandedOver?.()) return "deny";
      // A later answer would have no effect, so the question is closed.
      if (signal.aborted || clock.monotonic() >= until) {
        const { person, number } = approval;
        const closed = await store.access.answerApproval({
          person,
          approval: number,
          answer: "expired",
          now: clock.now(),
        });
        // There is an answer since the last read: it counts.
        if (isRefused(closed) && closed.refused === "not_allowed") continue;
        return signal.aborted ? "deny" : "expired";
      }
      // The stored deadline is in system time: it moves when the system clock was changed.
      const deadline = Math.round(clock.now() + until - clock.monotonic());
      if (Math.abs(deadline - stored) > MIN_CLOCK_STEP_MS) {
        await store.access.moveApprovalDeadline({ approval: approval.number, deadline });
        stored = deadline;
      }
      await change.happened;
    } finally {
      change.forget();
    }
  }
}
