// An agent for Postrider that asks any model of the AI SDK. The agent of example 06; docs/agents.md explains it.

import { jsonSchema, type LanguageModel, type ModelMessage, streamText, type ToolSet, tool } from "ai";
import { type Agent, type AgentEvent, type AgentTurn, callTool, getText } from "postrider/agent";

/** After so many rounds of tool calls the answer ends. */
const MAX_ROUNDS = 10;

export function aiSdkAgent(name: string, model: LanguageModel): Agent {
  return {
    name,
    async *run(turn, signal) {
      try {
        yield* answer(model, turn, signal);
      } catch (error) {
        // A failure of the model is an event, never an exception. Being stopped is no failure.
        if (!signal.aborted) yield { type: "failed", reason: `${name} failed: ${(error as Error).message}.` };
      }
    },
  };
}

async function* answer(
  model: LanguageModel,
  turn: AgentTurn,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  const messages = turn.history.flatMap(({ role, parts }): ModelMessage[] =>
    role === "user" || role === "assistant" ? [{ role, content: getText({ parts }) }] : [],
  );
  for (let round = 0; round < MAX_ROUNDS && !signal.aborted; round += 1) {
    const tools = turn.tools ?? [];
    const result = streamText({
      model,
      ...(turn.prompt !== undefined && { instructions: turn.prompt }),
      messages,
      tools: Object.fromEntries(
        tools.map(({ name, description, input }) => [
          name,
          tool({ description, inputSchema: jsonSchema(input) }),
        ]),
      ) as ToolSet,
      abortSignal: signal,
      onError: () => {}, // it comes as a part of the stream, too
    });
    const calls: { readonly id: string; readonly name: string; readonly arguments: unknown }[] = [];
    for await (const part of result.fullStream) {
      if (signal.aborted) return;
      if (part.type === "text-delta") yield { type: "text", text: part.text };
      if (part.type === "tool-call")
        calls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input });
      if (part.type === "error") throw part.error;
    }
    const { inputTokens = 0, outputTokens = 0 } = await result.usage; // read only now: it rejects where the stream fails
    yield { type: "usage", usage: { inputTokens, outputTokens } };
    if (calls.length === 0) return;
    messages.push(...(await result.response).messages);
    for (const call of calls) {
      // Checks the arguments, asks the person where the tool wants that, announces the call, runs it.
      const output = yield* callTool(call, tools, signal);
      if (output === undefined) return;
      const value = getText(output);
      messages.push({
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: call.id, toolName: call.name, output: { type: "text", value } },
        ],
      });
    }
  }
}
