import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import { formatTelegramFailure, type TelegramAnswer, type TelegramFailure } from "./api.ts";
import { computeRetryDelay, type Timing } from "./timing.ts";

export interface PollBackOff {
  /** Resolves when it is time to ask again; throws when that would not help, or has not for long. */
  waitAfterFailure(failure: TelegramFailure, signal: AbortSignal): Promise<void>;
  /** It works: the next failure is a first one. */
  reset(): void;
}

/** Some minutes of failures: time for whoever runs this to know, and to begin anew. */
const MOST_FAILURES = 12;

export function createPollBackOff(timing: Timing, log: Log | undefined): PollBackOff {
  let failures = 0;
  return {
    async waitAfterFailure(failure, signal) {
      if (signal.aborted) return;
      if (failure.kind === "answered") throwIfFinal(failure);
      failures += 1;
      if (failures >= MOST_FAILURES)
        throw new PostriderError("platform_down", `${formatTelegramFailure(failure)}.`);
      const asked = failure.kind === "answered" ? failure.retryAfterMs : undefined;
      const ms = asked ?? computeRetryDelay(failures, timing);
      log?.warn(
        { platform: "telegram", failures, waitMs: ms, reason: formatTelegramFailure(failure) },
        "Telegram is not reached",
      );
      await timing.wait(ms, signal);
    },
    reset() {
      failures = 0;
    },
  };
}

function throwIfFinal({ code }: Extract<TelegramFailure, { kind: "answered" }>): void {
  // For a token that it does not know, the server has no such address.
  if (code === 401 || code === 404) {
    throw new PostriderError(
      "platform_refused",
      "Telegram does not accept the token. Ask @BotFather for the current one (/mybots, API Token) and put it into the configuration.",
    );
  }
  if (code === 409) {
    throw new PostriderError(
      "platform_down",
      "Another program receives this bot's messages with the same token. Stop it, or ask @BotFather for a new token (/revoke).",
    );
  }
}

/** Asks until there is an answer. Undefined when the signal aborts first. */
export async function retryUntilAnswered<T>(
  patient: PollBackOff,
  signal: AbortSignal,
  request: () => Promise<TelegramAnswer<T>>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    const answer = await request();
    if (answer.ok) {
      patient.reset();
      return answer.value;
    }
    await patient.waitAfterFailure(answer.failure, signal);
  }
  return undefined;
}
