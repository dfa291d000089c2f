import { PostriderError } from "../../core/errors.ts";
import type { Log } from "../../ports/log.ts";
import { type Answer, type Failure, reasonOf } from "./api.ts";
import { backOffMs, type Timing } from "./timing.ts";

export interface Patience {
  /** Resolves when it is time to ask again; throws when that would not help, or has not for long. */
  afterFailure(failure: Failure, signal: AbortSignal): Promise<void>;
  /** It works: the next failure is a first one. */
  works(): void;
}

/** Some minutes of failures: time for whoever runs this to know, and to begin anew. */
const MOST_FAILURES = 12;

export function patience(timing: Timing, log: Log | undefined): Patience {
  let failures = 0;
  return {
    async afterFailure(failure, signal) {
      if (signal.aborted) return;
      if (failure.kind === "answered") throwIfFinal(failure);
      failures += 1;
      if (failures >= MOST_FAILURES) throw new PostriderError("platform_down", `${reasonOf(failure)}.`);
      const asked = failure.kind === "answered" ? failure.retryAfterMs : undefined;
      const ms = asked ?? backOffMs(failures, timing.random());
      log?.warn(
        { platform: "telegram", failures, waitMs: ms, reason: reasonOf(failure) },
        "Telegram is not reached",
      );
      await timing.wait(ms, signal);
    },
    works() {
      failures = 0;
    },
  };
}

function throwIfFinal({ code }: Extract<Failure, { kind: "answered" }>): void {
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
export async function untilAnswered<T>(
  patient: Patience,
  signal: AbortSignal,
  request: () => Promise<Answer<T>>,
): Promise<T | undefined> {
  while (!signal.aborted) {
    const answer = await request();
    if (answer.ok) {
      patient.works();
      return answer.value;
    }
    await patient.afterFailure(answer.failure, signal);
  }
  return undefined;
}
