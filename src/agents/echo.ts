import { getText } from "../core/message.ts";
import type { Agent, AgentTurn } from "../ports/agent.ts";

/** The simplest agent: repeats the message, word by word, and the message before it, to show that it has a history. */
export const echo: Agent = {
  name: "echo",
  async *run(turn, signal) {
    for (const word of buildAnswer(turn).split(/(?<=\s)/)) {
      if (signal.aborted) return;
      yield { type: "text", text: word };
    }
  },
};

function buildAnswer({ history }: AgentTurn): string {
  const texts = history.filter((message) => message.role === "user").map(getText);
  const last = texts.at(-1) ?? "";
  const before = texts.at(-2);
  return before === undefined ? `You said: ${last}` : `You said: ${last} (before that: ${before})`;
}
