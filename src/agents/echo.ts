import { getText } from "../core/message.ts";
import type { Agent, AgentTurn } from "../ports/agent.ts";

/** The simplest agent: repeats what was said, word by word, and shows that it remembers what was said before. */
export const echo: Agent = {
  name: "echo",
  async *run(turn, signal) {
    for (const word of answer(turn).split(/(?<=\s)/)) {
      if (signal.aborted) return;
      yield { type: "text", text: word };
    }
  },
};

function answer({ history }: AgentTurn): string {
  const said = history.filter((message) => message.role === "user").map(getText);
  const now = said.at(-1) ?? "";
  const before = said.at(-2);
  return before === undefined ? `You said: ${now}` : `You said: ${now} (before that: ${before})`;
}
