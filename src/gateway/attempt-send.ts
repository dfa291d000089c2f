import type { AttemptTrace, Delivery } from "../core/delivery.ts";
import { type Part, textPart } from "../core/message.ts";
import { markAsRepeated, REPEATED_MARK } from "../core/repetition.ts";
import type { Outbound, Platform, SendOutcome } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";

interface SendContext {
  readonly store: Store;
  readonly platform: Platform;
  readonly signal: AbortSignal;
  /** Checked immediately before a message is sent: the store and the platform may have taken long to answer. */
  canSend(): boolean;
}

/** The lease on the connection ran out before anything was sent: another process may be sending it. */
export interface HeldBack {
  readonly state: "held_back";
}
const HELD_BACK: HeldBack = { state: "held_back" };

/** Makes one attempt, which depends on what earlier attempts may have shown in the chat. Never rejects. */
export function attemptSend(sending: SendContext, delivery: Delivery): Promise<SendOutcome | HeldBack> {
  const { status } = delivery;
  return send(sending, delivery, "shown" in status ? status.shown : "nothing").catch(toUnknownResult);
}

async function send(
  sending: SendContext,
  delivery: Delivery,
  shown: AttemptTrace,
): Promise<SendOutcome | HeldBack> {
  const { platform, signal } = sending;
  if (!sending.canSend()) return HELD_BACK;
  const out = buildOutbound(sending, delivery);
  if (typeof shown === "object") return replace(sending, out, shown.messageId);
  if (shown === "nothing") return platform.send(out, signal);
  const { outbound: trait } = platform.traits;
  if (trait === "unknowable") return platform.send({ ...out, parts: markRepeated(out.parts) }, signal);
  let found: string | undefined;
  try {
    found = trait === "can_be_looked_up" ? await platform.lookUp?.(out, signal) : undefined;
  } catch (error) {
    // Still unknown: the next attempt looks it up again before it sends.
    return { state: "not_sent", reason: `Looking up an earlier attempt failed: ${(error as Error).message}` };
  }
  if (found === undefined && !sending.canSend()) return HELD_BACK;
  const sent =
    found === undefined ? await platform.send(out, signal) : ({ state: "sent", messageId: found } as const);
  // The message that was found may be a draft.
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

/** A platform that throws may have sent the message before: the outcome is unknown. */
function toUnknownResult(error: unknown): SendOutcome {
  return { state: "unknown", reason: `Sending failed: ${(error as Error).message}` };
}

/** Tells the person that they may have seen the message already. */
function markRepeated(parts: readonly Part[]): readonly Part[] {
  const at = parts.findIndex((part) => part.type === "text");
  const first = parts[at];
  if (first?.type !== "text") return [textPart(REPEATED_MARK), ...parts];
  return parts.with(at, textPart(markAsRepeated(first.text)));
}
