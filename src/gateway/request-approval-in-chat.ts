import { escapeMarkdown } from "../commands/command.ts";
import { type Approval, type ApprovalOutcome, type ApprovalRequest, canBeKept } from "../core/approval.ts";
import type { Buttons, NewDelivery } from "../core/delivery.ts";
import { fenceCode } from "../core/fence.ts";
import type { PlatformTraits } from "../core/platforms.ts";
import type { Turn } from "../core/turn.ts";
import { requestApproval } from "../turns/request-approval.ts";
import { buildTextDeliveries } from "../turns/text-deliveries.ts";
import type { Flow, PlatformConnection } from "./flow.ts";

/** Asks for the approval in the chat of the turn. */
export async function requestApprovalInChat(
  flow: Flow,
  { platform, outbox }: PlatformConnection,
  turn: Turn,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<ApprovalOutcome> {
  const sendQuestion = (approval: Approval): Promise<void> =>
    outbox.enqueue(turn.target, buildQuestion(turn, approval, platform.traits), {
      session: turn.session,
      approval: approval.number,
    });
  const onExpired = (approval: Approval): Promise<void> =>
    outbox.sendText(turn.target, formatExpiredApproval(approval), { session: turn.session });
  const isHandedOver = (): boolean => flow.turns.closing.aborted;
  return requestApproval(
    { ...flow, sendQuestion, onExpired, isHandedOver },
    turn,
    request,
    AbortSignal.any([flow.signal, signal]),
  );
}

/** The message that follows a question which nobody answered in time. */
export function formatExpiredApproval({ request }: Approval): string {
  return `Not answered in time, so not done: ${escapeMarkdown(request.title)}`;
}

/** The whole request, in as many messages as it takes, with the buttons below the last one. */
function buildQuestion(
  { target }: Turn,
  { number, request }: Approval,
  traits: PlatformTraits,
): NewDelivery[] {
  const { title, detail } = request;
  const lines = [
    `**May I?** ${title}`,
    detail === undefined ? "" : fenceCode(detail),
    "_Unanswered, it is not done._",
  ];
  const deliveries = buildTextDeliveries(target, lines.filter(Boolean).join("\n"), { traits });
  return deliveries.map((delivery, index) =>
    index < deliveries.length - 1 ? delivery : { ...delivery, buttons: buildButtons({ number, request }) },
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
