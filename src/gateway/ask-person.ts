import type { Approval, ApprovalAnswer, ApprovalRequest } from "../core/approval.ts";
import type { NewDelivery } from "../core/delivery.ts";
import { text } from "../core/message.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
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
  signal: AbortSignal,
): Promise<ApprovalAnswer> {
  const { store, clock } = flow;
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
  await outbox.put(turn.target, [question(turn, asked)], { session: turn.session });
  return answered(flow, asked, AbortSignal.any([flow.signal, signal]));
}

async function answered(flow: Flow, asked: Approval, signal: AbortSignal): Promise<ApprovalAnswer> {
  const { store, clock } = flow;
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
