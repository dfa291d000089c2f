import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** The events of one streamed answer, or a refusal. */
export type ProviderReply =
  | readonly Readonly<Record<string, unknown>>[]
  | { readonly status: number; readonly message: string };

export interface ProviderServer {
  readonly url: string;
  /** The body of each request, in order. */
  readonly bodies: Readonly<Record<string, unknown>>[];
}

/** A server that answers the n-th request with the n-th list of events, in Anthropic's or OpenAI's own protocol. */
export async function providerServer(...replies: readonly ProviderReply[]): Promise<ProviderServer> {
  const bodies: Readonly<Record<string, unknown>>[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const reply = replies[Math.min(bodies.length, replies.length - 1)] ?? [];
      bodies.push(JSON.parse(text));
      if ("status" in reply) {
        response.writeHead(reply.status, { "content-type": "application/json" });
        response.end(JSON.stringify({ type: "error", error: { type: "invalid", message: reply.message } }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of reply) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies };
}

/** A content block of Anthropic: its start and its deltas. */
export interface AnthropicBlock {
  readonly start: Readonly<Record<string, unknown>>;
  readonly deltas?: readonly Readonly<Record<string, unknown>>[];
}

export function anthropicAnswer(...blocks: readonly AnthropicBlock[]): ProviderReply {
  const calls = blocks.some(({ start }) => start.type === "tool_use");
  const usage = { input_tokens: 5, output_tokens: 1 };
  const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
  return [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
    ...blocks.flatMap(({ start, deltas = [] }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: calls ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 3 },
    },
    { type: "message_stop" },
  ];
}

export const thinkingBlock = (thinking: string, signature: string): AnthropicBlock => ({
  start: { type: "thinking", thinking: "" },
  deltas: [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ],
});

export const textBlock = (text: string): AnthropicBlock => ({
  start: { type: "text", text: "" },
  deltas: [{ type: "text_delta", text }],
});

export const callBlock = (id: string, name: string, input: unknown): AnthropicBlock => ({
  start: { type: "tool_use", id, name, input: {} },
  deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(input) }],
});

/** An answer of OpenAI's Responses API: reasoning with its encrypted form, then calls and a text. */
export function openaiAnswer({
  encrypted,
  calls = [],
  say,
}: {
  readonly encrypted?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly say?: string;
}): ProviderReply {
  const events: Readonly<Record<string, unknown>>[] = [];
  let index = 0;
  const item = (added: object, done: object, ...between: readonly object[]): void => {
    events.push({ type: "response.output_item.added", output_index: index, item: added });
    events.push(...between.map((event) => ({ output_index: index, ...event })));
    events.push({ type: "response.output_item.done", output_index: index, item: done });
    index += 1;
  };
  if (encrypted !== undefined) {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
    item(reasoning, { ...reasoning, encrypted_content: encrypted });
  }
  if (say !== undefined) {
    const message = { type: "message", id: "msg_1", role: "assistant", content: [] };
    item(message, message, { type: "response.output_text.delta", item_id: "msg_1", delta: say });
  }
  for (const { id, name, input } of calls) {
    const call = { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: "" };
    item(call, { ...call, arguments: JSON.stringify(input), status: "completed" });
  }
  const usage = { input_tokens: 5, output_tokens: 1, total_tokens: 6 };
  return [
    { type: "response.created", response: { id: "r", created_at: 1, model: "gpt-5" } },
    ...events,
    { type: "response.completed", response: { id: "r", created_at: 1, model: "gpt-5", usage } },
  ];
}
