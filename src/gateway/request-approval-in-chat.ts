import { escapeMarkdown } from "../commands/command.ts";
import { type Approval, type ApprovalOutcome, type ApprovalRequest, canBeKept } from "../core/approval.ts";
import type { Buttons, NewDelivery } from "../core/delivery.ts";
import { fenceCode } from "../core/fence.ts";
import type { PlatformTraits } from "../core/platforms.ts";
import type { Turn } from "../core/turn.ts";
import { requestApproval } from "../turns/request-approval.ts";
import { buildTextDeliveries } from "../turns/text-deliveries.ts";
import type { Flow, PlatformConnection } from "./flow.ts";

/** Asks whoever may answer, in the chat where the turn belongs. */
export async function requestApprovalInChat(
  flow: Flow,
  { platform, outbox }: PlatformConnection,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const put = (asked: Approval): Promise<void> =>
    outbox.enqueue(turn.target, buildQuestion(turn, asked, platform.traits), {
      session: turn.session,
      approval: asked.number,
    });
  const expired = (asked: Approval): Promise<void> =>
    outbox.sendText(turn.target, formatExpiredApproval(asked), { session: turn.session });
  const isLeft = (): boolean => flow.turns.closing.aborted;
  return requestApproval(
    { ...flow, sendQuestion: put, onExpired: expired, isHandedOver: isLeft },
    turn,
    request,
    AbortSignal.any([flow.signal, signal]),
  );
}

/** What a chat is told when a question has waited in vain. */
export function formatExpiredApproval({ request }: Approval): string {
  return `Not answered in time, so not done: ${escapeMarkdown(request.title)}`;
}

/** The whole of what would be done, in as many messages as it takes, and the buttons below the last. */
function buildQuestion(
  { target }: Turn,
  { number, request }: Approval,
  traits: PlatformTraits,
): NewDelivery[] {
  const { title, detail } = request;
  const words = [
    `**May I?** ${title}`,
    detail === undefined ? "" : fenceCode(detail),
    "_Unanswered, it is not done._",
  ];
  const made = buildTextDeliveries(target, words.filter(Boolean).join("\n"), { traits });
  return made.map((delivery, index) =>
    index < made.length - 1 ? delivery : { ...delivery, buttons: buildButtons({ number, request }) },
  );
}

function buildButtons({ number, request }: Pick<Approval, "number" | "request">): Buttons {
  const once = { label: "Once", line: `/approve ${number}` };
  const no = { label: "No", line: `/deny ${number}` };
  if (!canBeKept(request)) return [[once, no]];
  return [
    [once, { label: "In this session", line: `/approve ${number} session` }],
    [{ label: "Always", line: `/approve ${number} always` }, no],
  ];
}
