import { setTimeout as wait } from "node:timers/promises";
import { getText, type Message } from "../../src/core/message.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { ErrandOptions } from "./errand-agent.ts";

/** The input of one request to the agent, as the judge receives it. */
export interface Given {
  readonly session: string;
  /** All texts that it could read, with a mark for an interrupted answer. */
  readonly history: readonly string[];
  readonly prompt: string;
  readonly note: string;
  /** Whether the request is for a title, not for an answer. */
  readonly isForTitle: boolean;
}

/**
 * An agent that reports all its input to the judge, and repeats the marks in its answers and titles. `pause 20` delays
 * each of three chunks by 20 milliseconds.
 */
export function tellingAgent(effects: ErrandOptions["effects"]): Agent {
  return {
    name: "telling",
    canTitle: true,
    async *run({ session, history, prompt: stable = "", volatilePrompt = "", note = "" }, signal) {
      const last = getText(history.at(-1) ?? { parts: [] });
      const isForTitle = last.startsWith("Write a title");
      const texts = history.map(read);
      const prompt = `${stable}\n\n${volatilePrompt}`;
      await tell(effects, { session, history: texts, prompt, note, isForTitle });
      if (isForTitle) {
        yield { type: "text", text: `About ${marksIn(texts.join(" ")).slice(0, 2).join(" ")}` };
        return;
      }
      const words = unanswered(history).map(getText).join("\n");
      const pauseMs = Number(/\bpause (\d+)/.exec(words)?.[1] ?? 0);
      for (const piece of [`answer to ${marksIn(words).join(" ")}`, ", of", " course"]) {
        if (signal.aborted) return;
        yield { type: "text", text: piece };
        if (pauseMs > 0) await wait(pauseMs, undefined, { signal }).catch(() => {});
      }
    },
  };
}

/** As a model reads it. */
function read(message: Message): string {
  const files = message.parts.flatMap((part) => (part.type === "text" ? [] : [`<${part.type}>`]));
  const cut = message.origin?.interrupted === true ? ["<interrupted>"] : [];
  return [getText(message), ...files, ...cut].filter((words) => words !== "").join(" ");
}

/** `zannx3`: the third text of ann. A separate word, which Markdown does not change. */
export function marksIn(text: string): string[] {
  return text.match(/\bz[a-z]+x\d+\b/g) ?? [];
}

export function givenIn(name: string): Given | undefined {
  return name.startsWith("{") ? (JSON.parse(name) as Given) : undefined;
}

function unanswered(history: readonly Message[]): readonly Message[] {
  const last = history.findLastIndex((message) => message.role === "assistant");
  return history.slice(last + 1).filter((message) => message.role === "user");
}

async function tell({ url, headers }: ErrandOptions["effects"], given: Given): Promise<void> {
  const body = JSON.stringify({ name: JSON.stringify(given) });
  const response = await fetch(url, { method: "POST", headers, body });
  await response.text();
}
