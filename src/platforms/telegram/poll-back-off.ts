import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import { formatTelegramFailure, type TelegramAnswer, type TelegramFailure } from "./api.ts";
import { computeRetryDelay, type Timing } from "./timing.ts";

export interface PollBackOff {
  /** Resolves when it is time to retry. Throws if a retry cannot help, or after too many failures. */
  waitAfterFailure(failure: TelegramFailure, signal: AbortSignal): Promise<void>;
  /** Called after a success: the next failure counts as the first one. */
  reset(): void;
}

/** After some minutes of failures the caller reports it and connects again. */
const MAX_FAILURES = 12;

export function createPollBackOff(timing: Timing, log: Log | undefined): PollBackOff {
  let failures = 0;
  return {
    async waitAfterFailure(failure, signal) {
      if (signal.aborted) return;
      if (failure.kind === "answered") throwIfFinal(failure);
      failures += 1;
      if (failures >= MAX_FAILURES)
        throw new PostriderError("platform_down", `${formatTelegramFailure(failure)}.`);
      const requestedMs = failure.kind === "answered" ? failure.retryAfterMs : undefined;
      const ms = requestedMs ?? computeRetryDelay(failures, timing);
      log?.warn(
        { platform: "telegram", failures, waitMs: ms, reason: formatTelegramFailure(failure) },
        "polling Telegram failed; retrying",
      );
      await timing.wait(ms, signal);
    },
    reset() {
      failures = 0;
    },
  };
}

function throwIfFinal({ code }: Extract<TelegramFailure, { kind: "answered" }>): void {
  // The URL contains the token, so the server may answer 404 for an unknown one.
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

/** Retries until there is an answer. `undefined` if the signal aborts first. */
export async function retryUntilAnswered<T>(
  backOff: PollBackOff,
  signal: AbortSignal,
  request: () => Promise<TelegramAnswer<T>>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    const answer = await request();
    if (answer.ok) {
      backOff.reset();
      return answer.value;
    }
    await backOff.waitAfterFailure(answer.failure, signal);
  }
  return undefined;
}
