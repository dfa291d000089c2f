/** Events of a streamed answer as Anthropic, OpenAI's Responses API, Google and servers with OpenAI's chat API send them. */

type Frame = Readonly<Record<string, unknown>>;

/** One event as it is sent. */
export function eventText(event: Frame): string {
  const name = typeof event.type === "string" ? `event: ${event.type}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

export function anthropicText(said: string): readonly Frame[] {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "claude-x", content: [], usage };
  const start = { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } };
  if (said === "") return [start];
  return [
    start,
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: said } },
    { type: "content_block_stop", index: 0 },
  ];
}

export function anthropicEnd(reason: string): readonly Frame[] {
  const delta = { stop_reason: reason, stop_sequence: null };
  return [{ type: "message_delta", delta, usage: { output_tokens: 5 } }, { type: "message_stop" }];
}

export function openaiText(said: string): readonly Frame[] {
  const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-x", status: "in_progress" };
  const start = { type: "response.created", sequence_number: 0, response };
  if (said === "") return [start];
  const item = { id: "msg_1", type: "message", status: "in_progress", role: "assistant", content: [] };
  return [
    start,
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: said },
    { type: "response.output_item.done", output_index: 0, item: { ...item, status: "completed" } },
  ];
}

/** `reason`: why the answer is incomplete. Absent for a complete one. */
export function openaiEnd(reason?: string): readonly Frame[] {
  const type = reason === undefined ? "response.completed" : "response.incomplete";
  const incomplete_details = reason === undefined ? null : { reason };
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  return [{ type, response: { id: "resp_1", created_at: 1, model: "gpt-x", incomplete_details, usage } }];
}

export function googleText(said: string): readonly Frame[] {
  return said === ""
    ? []
    : [{ candidates: [{ content: { role: "model", parts: [{ text: said }] }, index: 0 }] }];
}

export function googleEnd(finishReason: string): readonly Frame[] {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };
  return [
    {
      candidates: [{ content: { role: "model", parts: [{ text: "" }] }, finishReason, index: 0 }],
      usageMetadata,
    },
  ];
}

export function chatText(said: string): readonly Frame[] {
  return said === "" ? [] : [chatChunk({ role: "assistant", content: said }, null)];
}

export function chatEnd(reason: string): readonly Frame[] {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  return [{ ...chatChunk({}, reason), usage }];
}

function chatChunk(delta: Frame, finish_reason: string | null): Frame {
  const choices = [{ index: 0, delta, finish_reason }];
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "llama-x", choices };
}
