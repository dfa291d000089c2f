import { escapeMarkdown } from "../../../commands/command.ts";
import {
  type Approval,
  type ApprovalOutcome,
  type ApprovalRequest,
  canBeKept,
  isYes,
} from "../../../core/approval.ts";
import { fenceCode } from "../../../core/fence.ts";
import type { Turn } from "../../../core/turn.ts";
import { formatExpiredApproval } from "../../../gateway/request-approval-in-chat.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Store } from "../../../ports/store.ts";
import { requestApproval } from "../../../turns/request-approval.ts";

export interface TerminalApprovalContext {
  readonly store: Store;
  readonly clock: Clock;
  /** Only an interactive terminal has a person who can answer. */
  readonly kind: "terminal" | "query" | "pipe";
  notify(text: string): void;
}

/** Asks the person at the terminal, who answers with a command there or in another chat. Without a terminal it denies. */
export async function askInTerminal(
  { store, clock, kind, notify }: TerminalApprovalContext,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  if (kind !== "terminal") return denyUnattended({ store, clock, kind, notify }, turn, request, signal);
  const put = async (asked: Approval): Promise<void> => notify(formatQuestion(asked));
  const expired = async (asked: Approval): Promise<void> => notify(formatExpiredApproval(asked));
  return requestApproval({ store, clock, sendQuestion: put, onExpired: expired }, turn, request, signal);
}

async function denyUnattended(
  { store, clock, notify }: TerminalApprovalContext,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  let isOpen = false;
  const put = async ({ person, number: approval }: Approval): Promise<void> => {
    isOpen = true;
    await store.access.answerApproval({ person, approval, answer: "expired", now: clock.now() });
    notify(
      `Denied, because nobody can approve it here: ${request.title}. Ask again in a terminal or a messenger, and approve it there.`,
    );
  };
  const answer = await requestApproval({ store, clock, sendQuestion: put }, turn, request, signal);
  return isOpen && !isYes(answer) ? "unasked" : answer;
}

function formatQuestion({ request }: Approval): string {
  const { title, detail } = request;
  const kept = canBeKept(request) ? ", /approve session or /approve always allows it from now on" : "";
  const words = [
    `**May I?** ${escapeMarkdown(title)}`,
    detail === undefined ? "" : fenceCode(detail),
    `_/approve allows it once${kept}, /deny denies it. Without an answer it is denied._`,
  ];
  return words.filter(Boolean).join("\n");
}
