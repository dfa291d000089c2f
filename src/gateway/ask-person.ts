import type { Approval, ApprovalAnswer, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { text } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import { beginFirst } from "./deliver.ts";
import { type Connected, type Flow, program } from "./flow.ts";
import { nextChange } from "./next-change.ts";

/** A question that nobody answers in this time is answered with no. */
const PATIENCE_MS = 5 * 60_000;

/** Asks whoever may answer, in the chat where the turn belongs, and waits: for the answer, given anywhere, or in vain. */
export async function askPerson(
  flow: Flow,
  { outbox }: Connected,
  turn: Turn,
  request: ApprovalRequest,
): Promise<ApprovalAnswer> {
  const { store, clock, runner } = flow;
  const now = clock.now();
  const asked = await store.askApproval({
    turn: turn.number,
    fence: turn.fence,
    request,
    deadline: now + PATIENCE_MS,
    now,
  });
  if (isRefused(asked)) return "deny";
  const { person, session } = asked;
  if (
    request.pattern !== undefined &&
    (await store.isAllowed({ person, session, pattern: request.pattern }))
  ) {
    await store.answerApproval({ person, approval: asked.number, answer: "once", now });
    return "once";
  }
  const { deliveries } = await store.enqueue({
    deliveries: beginFirst([question(turn, asked)], outbox.isFree(turn.target)),
    runner,
    session: turn.session,
    now,
  });
  outbox.take(deliveries);
  return answered(flow, asked);
}

async function answered(flow: Flow, asked: Approval): Promise<ApprovalAnswer> {
  const { store, clock } = flow;
  for (;;) {
    const change = nextChange(store, flow.signal);
    try {
      const { answer } = (await store.approval({ asker: program, approval: asked.number })) ?? {
        answer: "deny",
      };
      if (answer !== undefined) return answer === "expired" ? "deny" : answer;
      if (flow.signal.aborted) return "deny";
      if (clock.now() >= asked.deadline) {
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

function question({ target }: Turn, { number, request: { title, detail } }: Approval): NewDelivery {
  const words = [
    `**May I?** ${title}`,
    detail === undefined ? "" : `\`\`\`\n${detail}\n\`\`\``,
    "_Unanswered, it is not done._",
  ];
  return {
    target,
    parts: [text(words.filter(Boolean).join("\n"))],
    buttons: [
      [
        { label: "Once", line: `/approve ${number}` },
        { label: "In this session", line: `/approve ${number} session` },
      ],
      [
        { label: "Always", line: `/approve ${number} always` },
        { label: "No", line: `/deny ${number}` },
      ],
    ],
  };
}
