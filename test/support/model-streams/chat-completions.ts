import { type AnswerEvents, DEFAULT_USAGE, type ModelAnswer } from "./model-answer.ts";

/** An answer as OpenAI's `/chat/completions` streams it. */
export function chatCompletionsEvents({
  say,
  think,
  calls = [],
  usage = DEFAULT_USAGE,
}: ModelAnswer): AnswerEvents {
  const chunk = (choices: readonly unknown[], more: object = {}): unknown => ({
    id: "chat-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "recorded",
    choices,
    ...more,
  });
  const delta = (content: object, finish: string | null = null): unknown =>
    chunk([{ index: 0, delta: content, finish_reason: finish }]);
  const { input, output } = usage;
  return {
    begin: [
      ...(think === undefined ? [] : [delta({ role: "assistant", reasoning_content: think.text })]),
      ...(say === undefined ? [] : [delta({ role: "assistant", content: say })]),
      ...calls.map(({ id, name, input: given }, index) =>
        delta({
          tool_calls: [{ index, id, type: "function", function: { name, arguments: JSON.stringify(given) } }],
        }),
      ),
    ],
    end: [
      delta({}, calls.length > 0 ? "tool_calls" : "stop"),
      chunk([], { usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output } }),
      "[DONE]",
    ],
  };
}
