import { type AnswerEvents, DEFAULT_USAGE, type ModelAnswer, type ModelCall } from "./model-answer.ts";

/** An answer as Anthropic's `/v1/messages` streams it. */
export function anthropicMessagesEvents({
  say,
  think,
  calls = [],
  usage = DEFAULT_USAGE,
}: ModelAnswer): AnswerEvents {
  const blocks = [
    ...(think === undefined ? [] : [thinkingBlock(think)]),
    ...(say === undefined ? [] : [textBlock(say)]),
    ...calls.map(callBlock),
  ];
  const message = {
    id: "msg-1",
    type: "message",
    role: "assistant",
    model: "recorded",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: usage.input, output_tokens: 1 },
  };
  return {
    begin: [{ type: "message_start", message }, ...blocks.flatMap(indexed)],
    end: [
      {
        type: "message_delta",
        delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
        usage: { output_tokens: usage.output },
      },
      { type: "message_stop" },
    ],
  };
}

interface Block {
  readonly start: Readonly<Record<string, unknown>>;
  readonly deltas: readonly Readonly<Record<string, unknown>>[];
}

function indexed({ start, deltas }: Block, index: number): readonly unknown[] {
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

function textBlock(text: string): Block {
  return { start: { type: "text", text: "" }, deltas: [{ type: "text_delta", text }] };
}

function thinkingBlock({ text, signature = "signature-1" }: NonNullable<ModelAnswer["think"]>): Block {
  return {
    start: { type: "thinking", thinking: "" },
    deltas: [
      { type: "thinking_delta", thinking: text },
      { type: "signature_delta", signature },
    ],
  };
}

function callBlock({ id, name, input }: ModelCall): Block {
  return {
    start: { type: "tool_use", id, name, input: {} },
    deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(input) }],
  };
}
