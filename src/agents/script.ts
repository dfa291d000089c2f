import { PostriderError } from "../core/errors.ts";
import { asArray, asObject, usageFromJson } from "../core/json.ts";
import { textOf } from "../core/message.ts";
import type { UsageDelta } from "../core/usage.ts";
import type { Agent } from "../ports/agent.ts";

/** Timers count no further; it is more than three weeks. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

/** An answer of the script: what it is given to, and what is said or waited for, piece by piece. */
interface Answer {
  readonly to: RegExp;
  readonly say: readonly (string | { readonly waitMs: number } | { readonly fail: string })[];
  readonly usage?: UsageDelta;
}

/**
 * An agent that answers from a list, for demonstrations and tests: the first answer whose `to` is found in what was
 * said. `{ "answers": [{ "to": "hello", "say": ["Good ", { "wait_ms": 50 }, "morning"] }] }`
 */
export function script(json: unknown): Agent {
  const answers = asArray(asObject(json, "script").answers, "answers").map(answerFrom);
  return {
    name: "script",
    async *run({ history }, signal) {
      const said = textOf(history.findLast((message) => message.role === "user") ?? { parts: [] });
      const answer = answers.find(({ to }) => to.test(said));
      if (answer === undefined) {
        yield { type: "failed", reason: "The script has no answer to that." };
        return;
      }
      for (const piece of answer.say) {
        if (signal.aborted) return;
        if (typeof piece === "string") yield { type: "text", text: piece };
        else if ("waitMs" in piece) await pause(piece.waitMs, signal);
        else {
          yield { type: "failed", reason: piece.fail };
          break;
        }
      }
      if (answer.usage !== undefined) yield { type: "usage", usage: answer.usage };
    },
  };
}

function answerFrom(json: unknown, index: number): Answer {
  const field = `answers[${index}]`;
  const { to = "", say, usage } = asObject(json, field);
  return {
    to: pattern(to, `${field}.to`),
    say: (typeof say === "string" ? [say] : asArray(say, `${field}.say`)).map((piece, at) =>
      pieceFrom(piece, `${field}.say[${at}]`),
    ),
    ...(usage !== undefined && { usage: usageFrom(usage, `${field}.usage`) }),
  };
}

/** What one answer adds: what the script does not name stays as the session has it. */
function usageFrom(json: unknown, field: string): UsageDelta {
  const given = asObject(json, field);
  try {
    const { lastPromptTokens, costStatus, ...rest } = usageFromJson(given);
    return {
      ...rest,
      ...(given.last_prompt_tokens !== undefined && { lastPromptTokens }),
      ...(given.cost_status !== undefined && { costStatus }),
    };
  } catch (error) {
    throw new PostriderError("invalid_input", `${field}.${(error as Error).message}`, { details: { field } });
  }
}

function pattern(to: unknown, field: string): RegExp {
  if (typeof to !== "string")
    throw new PostriderError("invalid_input", `${field} must be a text.`, { details: { field } });
  try {
    return new RegExp(to, "iu");
  } catch (error) {
    throw new PostriderError("invalid_input", `${field} is not a pattern: ${(error as Error).message}.`, {
      details: { field },
    });
  }
}

function pieceFrom(json: unknown, field: string): Answer["say"][number] {
  if (typeof json === "string") return json;
  const piece = asObject(json, field);
  if (typeof piece.fail === "string" && piece.fail !== "") return { fail: piece.fail };
  const { wait_ms: waitMs } = piece;
  if (typeof waitMs === "number" && waitMs >= 0 && waitMs <= LONGEST_WAIT_MS) return { waitMs };
  throw new PostriderError("invalid_input", `${field} must be a text, { "wait_ms": … } or { "fail": … }.`, {
    details: { field },
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
