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

/** A response as an assistant message of the request: its parts in their order, and in words what is not native. */
export function buildAssistantContent(response: HistoryResponse, form: ResponseForm): AssistantPart[] {
  const { calls, results, cut } = response;
  const told = calls.filter((call) => !form.isNative(call));
  // A provider may refuse reasoning whose call does not follow it.
  const pieces = buildParts(response, {
    ...form,
    returnsReasoning: form.returnsReasoning && told.length === 0,
  });
  const words = told.map((call) => formatCallRecord(call, results.get(call.id)));
  return appendText(pieces, [...words, ...(cut === undefined ? [] : [cut])].join("\n"));
}

function buildParts(response: HistoryResponse, form: ResponseForm): AssistantPart[] {
  const { text, reasoning, stored } = response;
  const calls = new Map(response.calls.filter((call) => form.isNative(call)).map((call) => [call.id, call]));
  const hasCalls = calls.size > 0;
  const pieces: AssistantPart[] = [];
  const addText = (part: string, data?: ProviderData): void => {
    // A provider may refuse a text of spaces only, though its own model wrote it.
    if (part.trim() !== "")
      pieces.push({ type: "text", text: part, ...buildProviderOptions(form.provider, data) });
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
    pieces.push({ ...base, ...buildProviderOptions(form.provider, data) });
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
        pieces.push({ type: "reasoning", text: words, ...buildProviderOptions(form.provider, part.data) });
    }
  }
  const rest = text.slice(textAt);
  // A text behind calls would part them from their results.
  const firstCall = pieces.findIndex(({ type }) => type === "tool-call");
  if (rest.trim() !== "")
    pieces.splice(firstCall === -1 ? pieces.length : firstCall, 0, { type: "text", text: rest });
  for (const call of [...calls.values()]) addCall(call);
  return pieces;
}

/** Whether the message still holds the words that the parts speak of: a signed thought must go back whole. */
function hasMatchingParts({ text, reasoning, stored }: HistoryResponse): boolean {
  const total = (type: "text" | "reasoning"): number =>
    (stored?.parts ?? []).reduce((sum, part) => sum + (part.type === type ? part.length : 0), 0);
  return total("text") <= text.length && total("reasoning") === reasoning.length;
}

/**
 * Anthropic and OpenAI take reasoning only with what they signed or encrypted. Google signs the calls instead. Other servers get the words back with the
 * calls that followed from them: some need them there, and some refuse them anywhere else.
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
  // The client of compatible servers reads a thought signature under this name, whatever the server is called.
  const name = provider === "anthropic" || provider === "openai" ? provider : "google";
  return { providerOptions: { [name]: { ...data } } };
}

/** Providers want an object, also of a call whose arguments were not valid JSON. */
function toObject(given: unknown): unknown {
  if (given === undefined) return {};
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
  return isObject ? given : { invalid_arguments: given };
}

/** Before the calls, which must stand last. */
function appendText(pieces: AssistantPart[], words: string): AssistantPart[] {
  if (words === "") return pieces;
  const firstCall = pieces.findIndex(({ type }) => type === "tool-call");
  const end = firstCall === -1 ? pieces.length : firstCall;
  const before = pieces[end - 1];
  if (before?.type !== "text") return pieces.toSpliced(end, 0, { type: "text", text: words });
  return pieces.with(end - 1, { ...before, text: `${before.text}\n${words}` });
}
