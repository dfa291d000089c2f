import { type AnswerEvents, DEFAULT_USAGE, type ModelAnswer, type ModelCall } from "./model-answer.ts";

/** An answer as OpenAI's `/responses` streams it. */
export function responsesEvents({
  say,
  think,
  calls = [],
  usage = DEFAULT_USAGE,
}: ModelAnswer): AnswerEvents {
  const items = [
    ...(think === undefined ? [] : [reasoningItem(think)]),
    ...(say === undefined ? [] : [messageItem(say)]),
    ...calls.map(callItem),
  ];
  const response = { id: "resp-1", created_at: 1, model: "recorded" };
  return {
    begin: [
      { type: "response.created", response },
      ...items.flatMap((item, output_index) => item.map((event) => ({ ...event, output_index }))),
    ],
    end: [
      {
        type: "response.completed",
        response: {
          ...response,
          incomplete_details: null,
          usage: {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: 0 },
          },
        },
      },
    ],
  };
}

type StreamEvent = Readonly<Record<string, unknown>>;

function messageItem(text: string): readonly StreamEvent[] {
  const item = { type: "message", id: "msg-1" };
  return [
    { type: "response.output_item.added", item },
    { type: "response.output_text.delta", item_id: "msg-1", delta: text },
    { type: "response.output_item.done", item },
  ];
}

function reasoningItem({
  text,
  signature = "sealed",
}: NonNullable<ModelAnswer["think"]>): readonly StreamEvent[] {
  const item = { type: "reasoning", id: "rs-1", encrypted_content: signature };
  const part = { item_id: "rs-1", summary_index: 0 };
  return [
    { type: "response.output_item.added", item },
    { type: "response.reasoning_summary_part.added", ...part },
    { type: "response.reasoning_summary_text.delta", ...part, delta: text },
    { type: "response.reasoning_summary_part.done", ...part },
    { type: "response.output_item.done", item },
  ];
}

function callItem({ id, name, input }: ModelCall): readonly StreamEvent[] {
  const given = JSON.stringify(input);
  const item = { type: "function_call", id: `fc-${id}`, call_id: id, name };
  return [
    { type: "response.output_item.added", item: { ...item, arguments: "" } },
    { type: "response.function_call_arguments.delta", item_id: `fc-${id}`, delta: given },
    { type: "response.output_item.done", item: { ...item, arguments: given, status: "completed" } },
  ];
}
