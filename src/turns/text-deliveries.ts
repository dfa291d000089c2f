import type { NewDelivery } from "../core/delivery.ts";
import { textPart } from "../core/message.ts";
import { type PlatformTraits, platformTraits } from "../core/platforms.ts";
import { REPEATED_MARK } from "../core/repetition.ts";
import type { Source } from "../core/source.ts";
import { splitText } from "../core/split-text.ts";
import type { Platform } from "../ports/platform.ts";
import type { AgentAnswer } from "./answer-recorder.ts";

/** The limit of a text, with room for the mark of a repeated message. */
export function getTextLimit({ messageLimit }: Pick<PlatformTraits, "messageLimit">): number {
  return messageLimit - REPEATED_MARK.length - 1;
}

/** How a platform sends an answer of several messages. */
export function getSendOptions({ traits, replyMode }: Pick<Platform, "traits" | "replyMode">): {
  readonly traits: PlatformTraits;
  readonly replies?: "first" | "all";
} {
  return { traits, ...(replyMode !== undefined && { replies: replyMode }) };
}

/** Splits a text into deliveries to a target. */
export function buildTextDeliveries(
  target: Source,
  text: string,
  options: {
    readonly traits?: Pick<PlatformTraits, "messageLimit">;
    readonly replyTo?: string | undefined;
    readonly replies?: Platform["replyMode"];
    readonly draft?: number | undefined;
  } = {},
): NewDelivery[] {
  const { replyTo, replies = "first", draft, traits = platformTraits(target.platform) } = options;
  return splitText(text.toWellFormed(), getTextLimit(traits)).map((piece, index) => ({
    target,
    parts: [textPart(piece)],
    ...((index === 0 || replies === "all") && replyTo !== undefined && { replyTo }),
    ...(index === 0 && draft !== undefined && { draft }),
  }));
}

/** The text of an answer for the person; empty if it was stopped before a part was shown. */
export function formatAnswer(answer: AgentAnswer, isShown: boolean): string {
  const { text, outcome, reason } = answer;
  if (outcome === "interrupted") return isShown ? `${text}\n\n_(stopped)_` : "";
  if (outcome === "failed") return [text, `⚠ ${reason ?? "The answer failed."}`].filter(Boolean).join("\n\n");
  return text.trim() === "" ? "_(The agent had nothing to say.)_" : text;
}
