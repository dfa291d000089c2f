import { createHash } from "node:crypto";
import type { Part } from "../../src/core/message.ts";
import type { Agent, AgentTurn } from "../../src/ports/agent.ts";

/**
 * An agent that describes the parts of its input, with their bytes and the number of the message, so that
 * the chat shows its input.
 */
export const describingAgent: Agent = {
  name: "describing",
  async *run(turn) {
    const said = turn.history.filter((message) => message.role === "user");
    const lines = [`message ${said.length}:`];
    for (const part of said.at(-1)?.parts ?? []) lines.push(await described(part, turn));
    yield { type: "text", text: lines.join("\n") };
  },
};

async function described(part: Part, turn: AgentTurn): Promise<string> {
  if (part.type === "text") return `text ${part.text}`;
  const bytes = part.blob === undefined ? undefined : await turn.blob(part.blob);
  const name = "name" in part && part.name !== undefined ? ` called ${part.name}` : "";
  return `${part.type} ${part.mimeType}${name} ${bytes === undefined ? "nothing" : digest(bytes)}`;
}

/** Short enough to be read in a chat. */
export function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 12);
}
