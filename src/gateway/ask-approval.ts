import type { Approval, ApprovalAnswer, ApprovalRequest } from "../core/approval.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { program } from "./flow.ts";
import { nextChange } from "./next-change.ts";

/** A question that nobody answers in this time is answered with no. */
const PATIENCE_MS = 5 * 60_000;

export interface Asking {
  readonly store: Store;
  readonly clock: Clock;
  /** Puts the question to the person. They may answer it anywhere. */
  put(asked: Approval): Promise<void>;
}

/** The question is a row before it is put; then it waits for the answer, given anywhere, or in vain. */
export async function askApproval(
  { store, clock, put }: Asking,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const now = clock.now();
  const { number, fence } = turn;
  const deadline = now + PATIENCE_MS;
  const asked = await store.askApproval({ turn: number, fence, request, deadline, now });
  if (isRefused(asked)) return "deny";
  const { person, session } = asked;
  const { pattern } = request;
  const before = pattern === undefined ? undefined : await store.standing({ person, session, pattern });
  if (before !== undefined) {
    const answer = before === "allowed" ? "once" : "deny";
    await store.answerApproval({ person, approval: asked.number, answer, now });
    return answer;
  }
  await put(asked);
  return answered({ store, clock }, asked, signal);
}

async function answered(
  { store, clock }: Pick<Asking, "store" | "clock">,
  asked: Approval,
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  for (;;) {
    const change = nextChange(store, signal);
    try {
      const { answer } = (await store.approval({ asker: program, approval: asked.number })) ?? {
        answer: "deny",
      };
      if (answer !== undefined) return answer === "expired" ? "deny" : answer;
      // What nobody waits for any more must not be allowed later, as if that still did something.
      if (signal.aborted || clock.now() >= asked.deadline) {
        const { person, number: approval } = asked;
        await store.answerApproval({ person, approval, answer: "expired", now: clock.now() });
        return "deny";
      }
      await change.happened;
    } finally {
      change.forget();
    }
  }
}
