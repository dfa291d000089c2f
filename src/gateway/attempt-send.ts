import type { AttemptTrace, Delivery } from "../core/delivery.ts";
import { type Part, textPart } from "../core/message.ts";
import { markAsRepeated, REPEATED_MARK } from "../core/repetition.ts";
import type { Outbound, Platform, SendOutcome } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";

interface SendContext {
  readonly store: Store;
  readonly platform: Platform;
  readonly signal: AbortSignal;
}

/** Sends a delivery once, with respect to what earlier attempts have left in the chat. Never throws. */
export function attemptSend(sending: SendContext, delivery: Delivery): Promise<SendOutcome> {
  const { status } = delivery;
  return send(sending, delivery, "shown" in status ? status.shown : "nothing").catch(toUnknownResult);
}

async function send(sending: SendContext, delivery: Delivery, shown: AttemptTrace): Promise<SendOutcome> {
  const { platform, signal } = sending;
  const out = buildOutbound(sending, delivery);
  if (typeof shown === "object") return replace(sending, out, shown.messageId);
  if (shown === "nothing") return platform.send(out, signal);
  const { outbound: trait } = platform.traits;
  if (trait === "unknowable") return platform.send({ ...out, parts: markRepeated(out.parts) }, signal);
  let found: string | undefined;
  try {
    found = trait === "can_be_looked_up" ? await platform.lookUp?.(out, signal) : undefined;
  } catch (error) {
    // Nobody knows yet: it is looked up again with the next attempt, before anything is sent.
    return { state: "not_sent", reason: `It could not be looked up: ${(error as Error).message}` };
  }
  const sent =
    found === undefined ? await platform.send(out, signal) : ({ state: "sent", messageId: found } as const);
  // What was there may be a draft.
  return sent.state === "sent" ? replace(sending, out, sent.messageId) : sent;
}

async function replace(
  { platform, signal }: SendContext,
  out: Outbound,
  messageId: string,
): Promise<SendOutcome> {
  const edited = (await platform.edit?.(out, messageId, signal)) ?? { state: "sent", messageId };
  return edited.state === "gone" ? platform.send(out, signal) : edited;
}

function buildOutbound({ store }: SendContext, delivery: Delivery): Outbound {
  const { target, parts, nonce, replyTo, buttons, quiet } = delivery;
  return {
    target,
    parts,
    nonce,
    blob: (hash) => store.messages.readBlob({ asker: { everyone: true }, hash }),
    ...(replyTo !== undefined && { replyTo }),
    ...(buttons !== undefined && { buttons }),
    ...(quiet && { quiet }),
  };
}

/** A platform that throws does not say what it has done before: it is not asked again and again as if it had done nothing. */
function toUnknownResult(error: unknown): SendOutcome {
  return { state: "unknown", reason: `It could not be sent: ${(error as Error).message}` };
}

/** The person may have seen it: they are told so, instead of wondering. */
function markRepeated(parts: readonly Part[]): readonly Part[] {
  const at = parts.findIndex((part) => part.type === "text");
  const first = parts[at];
  if (first?.type !== "text") return [textPart(REPEATED_MARK), ...parts];
  return parts.with(at, textPart(markAsRepeated(first.text)));
}
