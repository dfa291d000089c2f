import type { Message, ToolCall } from "../../core/message.ts";
import { formatMessageText } from "./part-text.ts";
import { readStoredResponse, type StoredResponse } from "./response-parts.ts";

/** One response of a model, from all its stored messages, with the results of its calls. */
export interface HistoryResponse {
  readonly type: "response";
  text: string;
  reasoning: string;
  readonly calls: ToolCall[];
  /** By call id. */
  readonly results: Map<string, Message>;
  stored: StoredResponse | undefined;
  /** The note about an interruption, if there was one. */
  cut: string | undefined;
}

export type HistoryItem = HistoryResponse | { readonly type: "message"; readonly message: Message };

/**
 * Joins the messages of each response. A response with several calls is stored as several messages, each call before its
 * result, because a call is stored before its effect; the provider requires one message with all calls.
 */
export function buildHistoryItems(history: readonly Message[]): HistoryItem[] {
  const items: HistoryItem[] = [];
  let open: HistoryResponse | undefined;
  for (const message of history) {
    if (message.role === "assistant") {
      const next = toHistoryResponse(message);
      if (open !== undefined && isSameResponse(open, next)) appendToResponse(open, next);
      else {
        open = next;
        items.push(next);
      }
    } else if (message.role === "tool") open?.results.set(message.toolCallId ?? "", message);
    else {
      // A note that arrived while the tools ran does not end the response; it goes after all results.
      if (message.role === "user") open = undefined;
      items.push({ type: "message", message });
    }
  }
  return items;
}

function toHistoryResponse(message: Message): HistoryResponse {
  const { reasoning = "", toolCalls = [], origin, extra } = message;
  const why = extra?.error === undefined ? "" : `: ${extra.error}`;
  return {
    type: "response",
    text: formatMessageText(message),
    reasoning,
    calls: [...toolCalls],
    results: new Map(),
    stored: readStoredResponse(message),
    cut: origin?.interrupted === true ? `[interrupted${why}]` : undefined,
  };
}

function isSameResponse(open: HistoryResponse, next: HistoryResponse): boolean {
  const [one, other] = [open.stored, next.stored];
  if (one === undefined || one.response !== other?.response) return false;
  if (one.provider !== other.provider || one.model !== other.model) return false;
  // No response has two calls with one id: one is invented or copied.
  return !next.calls.some(({ id }) => open.calls.some((call) => call.id === id));
}

function appendToResponse(
  open: HistoryResponse,
  { text, reasoning, calls, stored, cut }: HistoryResponse,
): void {
  open.text += text;
  open.reasoning += reasoning;
  open.calls.push(...calls);
  open.cut ??= cut;
  if (open.stored !== undefined)
    open.stored = { ...open.stored, parts: [...open.stored.parts, ...(stored?.parts ?? [])] };
}
