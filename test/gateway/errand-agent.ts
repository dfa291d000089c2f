import { setTimeout as wait } from "node:timers/promises";
import { type ApprovalOutcome, isYes } from "../../src/core/approval.ts";
import { getText, type Message, textPart } from "../../src/core/message.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Hit } from "./kill-switch.ts";
import { STUCK } from "./protocol.ts";

export interface ErrandOptions {
  /** The target of an errand: an outside effect that can be counted. */
  readonly effects: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly hit: Hit;
}

/**
 * An agent that follows simple instructions: it repeats marks such as `[n1]`, so that an answer can be matched with its
 * text; `errand x` has an outside effect; `pause 20` delays the answer by 20 milliseconds; `long 2000` sets its length;
 * `ask x` requests an approval first; `stuck` and `stucklast` add a word to its first or last part that some messengers
 * never accept.
 */
export function errandAgent({ effects, hit }: ErrandOptions): Agent {
  return {
    name: "errand",
    async *run({ history }, signal) {
      const said = unanswered(history);
      const words = said.map(getText).join("\n");
      const marks = words.match(/\[[^\]]+\]/g) ?? [];
      const pauseMs = Number(/\bpause (\d+)/.exec(words)?.[1] ?? 0);
      for (const [, name = ""] of words.matchAll(/\berrand (\S+)/g)) {
        const call = { id: `call-${name}`, name: "errand", arguments: { name }, effect: "external" as const };
        yield { type: "tool_call", call };
        await hit("tool:before");
        await run(effects, name);
        await hit("tool:acted");
        yield { type: "tool_result", id: call.id, name: "errand", parts: [textPart(`ran ${name}`)] };
        await hit("tool:after");
      }
      let asked = "";
      for (const [, name = ""] of words.matchAll(/\bask (\S+)/g)) {
        const { promise, resolve } = Promise.withResolvers<ApprovalOutcome>();
        yield { type: "approval", request: { title: `Errand of ${name}` }, answer: resolve };
        asked += isYes(await promise) ? " (allowed)" : " (denied)";
      }
      const stuck = /\bstuck\b/.test(words) ? ` ${STUCK}` : "";
      const answer = `answer to ${marks.join(" ") || words}${asked}${stuck}, in a few words`;
      const length = Number(/\blong (\d+)/.exec(words)?.[1] ?? 0);
      const last = /\bstucklast\b/.test(words) ? ` ${STUCK}` : "";
      const pieces = `${answer.padEnd(length, "x")}${last}`.split(/(?<=, )/);
      for (const piece of pieces) {
        if (signal.aborted) return;
        yield { type: "text", text: piece };
        if (pauseMs > 0) await wait(pauseMs, undefined, { signal }).catch(() => {});
      }
    },
  };
}

/** The text since the last complete answer. */
function unanswered(history: readonly Message[]): readonly Message[] {
  const last = history.findLastIndex((message) => message.role === "assistant");
  return history.slice(last + 1).filter((message) => message.role === "user");
}

async function run({ url, headers }: ErrandOptions["effects"], name: string): Promise<void> {
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ name }) });
  if (!response.ok) throw new Error(`the errand failed with ${response.status}`);
  await response.text();
}
