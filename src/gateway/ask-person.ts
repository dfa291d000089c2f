import { escaped } from "../commands/command.ts";
import { type Approval, type ApprovalOutcome, type ApprovalRequest, canBeKept } from "../core/approval.ts";
import type { Buttons, NewDelivery } from "../core/delivery.ts";
import { fenced } from "../core/fence.ts";
import type { PlatformTraits } from "../core/platforms.ts";
import type { Turn } from "../core/turn.ts";
import { askApproval } from "../turns/ask-approval.ts";
import { textDeliveries } from "../turns/outgoing.ts";
import type { Connected, Flow } from "./flow.ts";

/** Asks whoever may answer, in the chat where the turn belongs. */
export async function askPerson(
  flow: Flow,
  { platform, outbox }: Connected,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const put = (asked: Approval): Promise<void> =>
    outbox.put(turn.target, question(turn, asked, platform.traits), {
      session: turn.session,
      asks: asked.number,
    });
  const expired = (asked: Approval): Promise<void> =>
    outbox.say(turn.target, expiredWords(asked), { session: turn.session });
  const isLeft = (): boolean => flow.turns.closing.aborted;
  return askApproval(
    { ...flow, put, expired, isLeft },
    turn,
    request,
    AbortSignal.any([flow.signal, signal]),
  );
}

/** What a chat is told when a question has waited in vain. */
export function expiredWords({ request }: Approval): string {
  return `Not answered in time, so not done: ${escaped(request.title)}`;
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
    index < made.length - 1 ? delivery : { ...delivery, buttons: buttonsOf({ number, request }) },
  );
}

function buttonsOf({ number, request }: Pick<Approval, "number" | "request">): Buttons {
  const once = { label: "Once", line: `/approve ${number}` };
  const no = { label: "No", line: `/deny ${number}` };
  if (!canBeKept(request)) return [[once, no]];
  return [
    [once, { label: "In this session", line: `/approve ${number} session` }],
    [{ label: "Always", line: `/approve ${number} always` }, no],
  ];
}
