import type { Approval, ApprovalAnswer, ApprovalRequest } from "../core/approval.ts";
import type { Buttons, NewDelivery } from "../core/delivery.ts";
import type { PlatformTraits } from "../core/platforms.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import { type Connected, type Flow, program } from "./flow.ts";
import { nextChange } from "./next-change.ts";
import { textDeliveries } from "./outgoing.ts";

/** A question that nobody answers in this time is answered with no. */
const PATIENCE_MS = 5 * 60_000;

/** Asks whoever may answer, in the chat where the turn belongs, and waits: for the answer, given anywhere, or in vain. */
export async function askPerson(
  flow: Flow,
  { platform, outbox }: Connected,
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
  await outbox.put(turn.target, question(turn, asked, platform.traits), { session: turn.session });
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

/** The whole of what would be done, in as many messages as it takes, and the buttons below the last. */
function question({ target }: Turn, { number, request }: Approval, traits: PlatformTraits): NewDelivery[] {
  const { title, detail } = request;
  const words = [
    `**May I?** ${title}`,
    detail === undefined ? "" : fenced(detail),
    "_Unanswered, it is not done._",
  ];
  const made = textDeliveries(target, words.filter(Boolean).join("\n"), { traits });
  return made.map((delivery, index) =>
    index < made.length - 1 ? delivery : { ...delivery, buttons: buttonsOf(number) },
  );
}

/** In a fence that is longer than any within: nothing of it may look like something else. */
function fenced(detail: string): string {
  const longest = Math.max(2, ...(detail.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${detail}\n${fence}`;
}

function buttonsOf(number: number): Buttons {
  return [
    [
      { label: "Once", line: `/approve ${number}` },
      { label: "In this session", line: `/approve ${number} session` },
    ],
    [
      { label: "Always", line: `/approve ${number} always` },
      { label: "No", line: `/deny ${number}` },
    ],
  ];
}
