import { escaped } from "../../../commands/command.ts";
import {
  type Approval,
  type ApprovalOutcome,
  type ApprovalRequest,
  canBeKept,
  isYes,
} from "../../../core/approval.ts";
import { fenced } from "../../../core/fence.ts";
import type { Turn } from "../../../core/turn.ts";
import { expiredWords } from "../../../gateway/ask-person.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import { askApproval } from "../../../turns/ask-approval.ts";

export interface AskingHere {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether somebody sits there: nobody does at a pipe or behind a single question. */
  readonly kind: "terminal" | "query" | "pipe";
  notice(text: string): void;
}

/**
 * Asks whoever sits at the terminal; they answer by a command there, or from any other place of theirs. Where nobody sits,
 * it is refused at once, unless it was allowed before.
 */
export async function askHere(
  { store, clock, kind, notice }: AskingHere,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  if (kind !== "terminal") return askNobody({ store, clock, kind, notice }, turn, request, signal);
  const put = async (asked: Approval): Promise<void> => notice(question(asked));
  const expired = async (asked: Approval): Promise<void> => notice(expiredWords(asked));
  return askApproval({ store, clock, put, expired }, turn, request, signal);
}

async function askNobody(
  { store, clock, notice }: AskingHere,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  let isOpen = false;
  const put = async ({ person, number: approval }: Approval): Promise<void> => {
    isOpen = true;
    await store.answerApproval({ person, approval, answer: "expired", now: clock.now() });
    notice(
      `Nobody can be asked here, so this was not done: ${request.title}. Ask for it in a terminal or a messenger, and allow it there.`,
    );
  };
  const answer = await askApproval({ store, clock, put }, turn, request, signal);
  return isOpen && !isYes(answer) ? "unasked" : answer;
}

function question({ request }: Approval): string {
  const { title, detail } = request;
  const kept = canBeKept(request) ? ", /approve session or /approve always from now on" : "";
  const words = [
    `**May I?** ${escaped(title)}`,
    detail === undefined ? "" : fenced(detail),
    `_/approve allows it once${kept}, /deny does not. Unanswered, it is not done._`,
  ];
  return words.filter(Boolean).join("\n");
}
