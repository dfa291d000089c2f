import { getText, type Part } from "../../src/core/message.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Tool } from "../../src/ports/tool.ts";
import { say } from "../support/child.ts";
import { LATEST } from "./errands.ts";
import { type Shape, shapeOf } from "./provider-rules.ts";

/** Additional output lines of this child. */
export interface GivenLine {
  readonly given: readonly Shape[];
}

/**
 * The same agent, which prints its input. A script cannot know the id of a process that it starts: `latest` is replaced by
 * the id of the last process of this turn.
 */
export function printInput(agent: Agent): Agent {
  return {
    ...agent,
    run(turn, signal) {
      say({ given: turn.history.map(shapeOf) } satisfies GivenLine);
      const latest = { id: "" };
      const tools = (turn.tools ?? []).map((tool) => withLatest(tool, latest));
      return agent.run({ ...turn, tools }, signal);
    },
  };
}

function withLatest(tool: Tool, latest: { id: string }): Tool {
  if (tool.name !== "terminal" && tool.name !== "process") return tool;
  return {
    ...tool,
    async run(given, call) {
      const { session_id, ...rest } = given as { readonly session_id?: string };
      const named = session_id === LATEST ? { ...rest, session_id: latest.id } : given;
      const output = await tool.run(named, call);
      latest.id = startedIn(output.parts) ?? latest.id;
      return output;
    },
  };
}

function startedIn(parts: readonly Part[]): string | undefined {
  return /"session_id": ?"(proc_[0-9a-f]{12})"/.exec(getText({ parts }))?.[1];
}
