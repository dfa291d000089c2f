import type { Delivery, NewDelivery, Settle } from "../core/delivery.ts";
import { textPart } from "../core/message.ts";
import { SYSTEM } from "../core/owner.ts";
import type { Store } from "../ports/store.ts";

/** Reasons come from platforms; a long one would leave no room for what helps. */
const LONGEST_REASON = 300;

/**
 * Tells the person that a delivery steps aside or is dead, and how to get what was in it. Nothing is said of notices
 * themselves, and nothing again of a delivery that has stepped aside before: the store keeps only the first.
 */
export async function buildUndeliveredNotice(
  store: Store,
  delivery: Delivery,
  outcome: Settle["outcome"],
): Promise<NewDelivery | undefined> {
  const stepsAside = outcome.state === "waiting" && outcome.deferred === true;
  if (outcome.state === "sent" || !(stepsAside || outcome.state === "dead")) return undefined;
  if (delivery.noticeFor !== undefined) return undefined;
  const what = delivery.session === undefined ? "A message" : "An answer, or a part of one,";
  const words = [
    `⚠ ${what} could not be delivered here: ${addFullStop(outcome.error.slice(0, LONGEST_REASON))}`,
    ...(stepsAside ? ["It is tried again for about a day."] : []),
    await formatRetrievalHint(store, delivery),
  ];
  const { target, replyTo } = delivery;
  return {
    target,
    parts: [textPart(words.join(" ").toWellFormed())],
    ...(replyTo !== undefined && { replyTo }),
  };
}

async function formatRetrievalHint(store: Store, { session }: Delivery): Promise<string> {
  if (session === undefined) return "If it answers a command, give the command again.";
  // The outcome of an attempt must be stored, whether or not the handle can be read.
  const found = await store.sessions.getSession({ asker: SYSTEM, session }).catch(() => undefined);
  const show = `postrider sessions show ${found?.handle ?? session} --everyone`;
  return `Nothing is lost: /history shows it here, and \`${show}\` shows all of it where Postrider runs.`;
}

function addFullStop(sentence: string): string {
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}
