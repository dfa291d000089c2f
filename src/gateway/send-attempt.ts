import type { Delivery, Shown } from "../core/delivery.ts";
import { type Part, text } from "../core/message.ts";
import { markedAsRepeated, REPEATED_MARK } from "../core/repetition.ts";
import type { Outbound, Platform, Sent } from "../ports/platform.ts";
import type { Store } from "../ports/store.ts";

interface Sending {
  readonly store: Store;
  readonly platform: Platform;
  readonly signal: AbortSignal;
}

/** Sends a delivery once, with respect to what earlier attempts have left in the chat. Never throws. */
export function sendAttempt(sending: Sending, delivery: Delivery): Promise<Sent> {
  const { status } = delivery;
  return send(sending, delivery, "shown" in status ? status.shown : "nothing").catch(brokenPromise);
}

async function send(sending: Sending, delivery: Delivery, shown: Shown): Promise<Sent> {
  const { platform, signal } = sending;
  const out = outbound(sending, delivery);
  if (typeof shown === "object") return replace(sending, out, shown.messageId);
  if (shown === "nothing") return platform.send(out, signal);
  const { outbound: trait } = platform.traits;
  if (trait === "unknowable") return platform.send({ ...out, parts: marked(out.parts) }, signal);
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

async function replace({ platform, signal }: Sending, out: Outbound, messageId: string): Promise<Sent> {
  const edited = (await platform.edit?.(out, messageId, signal)) ?? { state: "sent", messageId };
  return edited.state === "gone" ? platform.send(out, signal) : edited;
}

function outbound({ store }: Sending, delivery: Delivery): Outbound {
  const { target, parts, nonce, replyTo, buttons, quiet } = delivery;
  return {
    target,
    parts,
    nonce,
    blob: (hash) => store.blob({ asker: { everyone: true }, hash }),
    ...(replyTo !== undefined && { replyTo }),
    ...(buttons !== undefined && { buttons }),
    ...(quiet && { quiet }),
  };
}

/** A platform that throws does not say what it has done before: it is not asked again and again as if it had done nothing. */
function brokenPromise(error: unknown): Sent {
  return { state: "unknown", reason: `It could not be sent: ${(error as Error).message}` };
}

/** The person may have seen it: they are told so, instead of wondering. */
function marked(parts: readonly Part[]): readonly Part[] {
  const at = parts.findIndex((part) => part.type === "text");
  const first = parts[at];
  if (first?.type !== "text") return [text(REPEATED_MARK), ...parts];
  return parts.with(at, text(markedAsRepeated(first.text)));
}
