import type { AssistantContent } from "ai";
import type { ToolCall } from "../../core/message.ts";
import { formatCallRecord } from "./format-call-record.ts";
import type { HistoryResponse } from "./history-responses.ts";
import type { ProviderName } from "./provider.ts";
import type { ProviderData, ResponsePart } from "./response-parts.ts";

type AssistantPart = Extract<
  Exclude<AssistantContent, string>[number],
  { type: "text" | "reasoning" | "tool-call" }
>;

export interface ResponseForm {
  readonly provider: ProviderName;
  /** Whether this call goes in the provider's own form. */
  isNative(call: ToolCall): boolean;
  /** The id of a native call in this request. */
  getRequestId(call: ToolCall): string;
  /** Whether the provider gets back the reasoning that it sent with the response. */
  readonly returnsReasoning: boolean;
}

/** A response as an assistant message of the request: its parts in their order, and calls that are not native as text. */
export function buildAssistantContent(response: HistoryResponse, form: ResponseForm): AssistantPart[] {
  const { calls, results, cut } = response;
  const records = calls.filter((call) => !form.isNative(call));
  // A provider may refuse reasoning whose call does not follow it.
  const parts = buildParts(response, {
    ...form,
    returnsReasoning: form.returnsReasoning && records.length === 0,
  });
  const texts = records.map((call) => formatCallRecord(call, results.get(call.id)));
  return appendText(parts, [...texts, ...(cut === undefined ? [] : [cut])].join("\n"));
}

function buildParts(response: HistoryResponse, form: ResponseForm): AssistantPart[] {
  const { text, reasoning, stored } = response;
  const calls = new Map(response.calls.filter((call) => form.isNative(call)).map((call) => [call.id, call]));
  const hasCalls = calls.size > 0;
  const parts: AssistantPart[] = [];
  const addText = (part: string, data?: ProviderData): void => {
    // A provider may refuse a text that contains only spaces, even one of its own model.
    if (part.trim() !== "")
      parts.push({ type: "text", text: part, ...buildProviderOptions(form.provider, data) });
  };
  const addCall = (call: ToolCall, data?: ProviderData): void => {
    calls.delete(call.id);
    const input = toObject(call.arguments);
    const base = {
      type: "tool-call" as const,
      toolCallId: form.getRequestId(call),
      toolName: call.name,
      input,
    };
    parts.push({ ...base, ...buildProviderOptions(form.provider, data) });
  };
  let [textAt, reasoningAt] = [0, 0];
  for (const part of form.returnsReasoning && hasMatchingParts(response) ? (stored?.parts ?? []) : []) {
    if (part.type === "call") {
      const call = calls.get(part.id);
      if (call !== undefined) addCall(call, part.data);
    } else if (part.type === "text") {
      addText(text.slice(textAt, textAt + part.length), part.data);
      textAt += part.length;
    } else {
      const words = reasoning.slice(reasoningAt, reasoningAt + part.length);
      reasoningAt += part.length;
      if (isReturned(part, words, form.provider, hasCalls))
        parts.push({ type: "reasoning", text: words, ...buildProviderOptions(form.provider, part.data) });
    }
  }
  const rest = text.slice(textAt);
  // A text after calls would separate them from their results.
  const firstCall = parts.findIndex(({ type }) => type === "tool-call");
  if (rest.trim() !== "")
    parts.splice(firstCall === -1 ? parts.length : firstCall, 0, { type: "text", text: rest });
  for (const call of [...calls.values()]) addCall(call);
  return parts;
}

/** Whether the message still contains the text of its parts: a signed thought must be sent back whole. */
function hasMatchingParts({ text, reasoning, stored }: HistoryResponse): boolean {
  const total = (type: "text" | "reasoning"): number =>
    (stored?.parts ?? []).reduce((sum, part) => sum + (part.type === type ? part.length : 0), 0);
  return total("text") <= text.length && total("reasoning") === reasoning.length;
}

/**
 * Anthropic and OpenAI accept reasoning only with their signature or encryption. Google signs the calls instead. Other
 * servers get the text back with the calls that followed from it: some need it there, and some refuse it anywhere else.
 */
function isReturned(
  { data }: ResponsePart,
  words: string,
  provider: ProviderName,
  hasCalls: boolean,
): boolean {
  if (provider === "anthropic") return data?.signature !== undefined || data?.redactedData !== undefined;
  if (provider === "openai")
    return data?.itemId !== undefined || data?.reasoningEncryptedContent !== undefined;
  if (provider === "google") return false;
  return hasCalls && words !== "";
}

function buildProviderOptions(provider: ProviderName, data: ProviderData | undefined) {
  if (data === undefined) return {};
  // The client of compatible servers reads a thought signature under this name, for any server.
  const name = provider === "anthropic" || provider === "openai" ? provider : "google";
  return { providerOptions: { [name]: { ...data } } };
}

/** Providers require an object, also for a call whose arguments were not valid JSON. */
function toObject(value: unknown): unknown {
  if (value === undefined) return {};
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value : { invalid_arguments: value };
}

/** Adds a text before the calls, which must come last. */
function appendText(parts: AssistantPart[], words: string): AssistantPart[] {
  if (words === "") return parts;
  const firstCall = parts.findIndex(({ type }) => type === "tool-call");
  const end = firstCall === -1 ? parts.length : firstCall;
  const before = parts[end - 1];
  if (before?.type !== "text") return parts.toSpliced(end, 0, { type: "text", text: words });
  return parts.with(end - 1, { ...before, text: `${before.text}\n${words}` });
}
