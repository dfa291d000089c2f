import type { NewDelivery } from "../core/delivery.ts";
import { textPart } from "../core/message.ts";
import { type PlatformTraits, platformTraits } from "../core/platforms.ts";
import { REPEATED_MARK } from "../core/repetition.ts";
import type { Source } from "../core/source.ts";
import { splitText } from "../core/split-text.ts";
import type { Platform } from "../ports/platform.ts";
import type { AgentAnswer } from "./answer-recorder.ts";

/** How long a text may be so that there is still room for the mark of a repetition. */
export function getTextLimit({ messageLimit }: Pick<PlatformTraits, "messageLimit">): number {
  return messageLimit - REPEATED_MARK.length - 1;
}

/** How a platform wants an answer in several messages. */
export function getSendOptions({ traits, replyMode }: Pick<Platform, "traits" | "replyMode">): {
  readonly traits: PlatformTraits;
  readonly replies?: "first" | "all";
} {
  return { traits, ...(replyMode !== undefined && { replies: replyMode }) };
}

/** A text on its way to a target, in as many messages as it takes. */
export function buildTextDeliveries(
  target: Source,
  words: string,
  options: {
    readonly traits?: Pick<PlatformTraits, "messageLimit">;
    readonly replyTo?: string | undefined;
    readonly replies?: Platform["replyMode"];
    readonly draft?: number | undefined;
  } = {},
): NewDelivery[] {
  const { replyTo, replies = "first", draft, traits = platformTraits(target.platform) } = options;
  return splitText(words.toWellFormed(), getTextLimit(traits)).map((piece, index) => ({
    target,
    parts: [textPart(piece)],
    ...((index === 0 || replies === "all") && replyTo !== undefined && { replyTo }),
    ...(index === 0 && draft !== undefined && { draft }),
  }));
}

/** What the person gets to read of an answer; nothing of one that was stopped before they saw any of it. */
export function formatAnswer(answer: AgentAnswer, isShown: boolean): string {
  const { text, outcome, reason } = answer;
  if (outcome === "interrupted") return isShown ? `${text}\n\n_(stopped)_` : "";
  if (outcome === "failed") return [text, `⚠ ${reason ?? "The answer failed."}`].filter(Boolean).join("\n\n");
  return text.trim() === "" ? "_(The agent had nothing to say.)_" : text;
}
