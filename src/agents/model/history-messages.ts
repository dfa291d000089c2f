import type { AssistantModelMessage, ModelMessage, UserContent } from "ai";
import { getText, type Message, type Part, type ToolCall, textPart } from "../../core/message.ts";
import { NO_RESULT } from "../../core/projection.ts";
import type { AgentTurn } from "../../ports/agent.ts";
import { buildAssistantContent } from "./assistant-content.ts";
import { createRequestIds } from "./call-ids.ts";
import { buildHistoryItems, type HistoryResponse } from "./history-responses.ts";
import { formatPartText } from "./part-text.ts";
import type { ModelChoice } from "./provider.ts";
import { buildResultMessages } from "./tool-result.ts";

/** What a request depends on besides the messages. */
export interface RequestForm {
  readonly choice: ModelChoice;
  /** Names of the tools that the request offers. */
  readonly offeredTools: ReadonlySet<string>;
  /** False after the provider has refused its own reasoning. */
  readonly returnsReasoning: boolean;
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** Told to the model where the last message is its own, because some providers answer only a message of somebody else. */
const GO_ON = "[Note: continue your answer.]";

/**
 * The messages of a request: the history, and what this turn's own responses and tools have said since, both built in the
 * same way from the same stored form. So every request begins with the one before it, and the provider's cache applies.
 */
export async function buildRequestMessages(
  { history, note }: Pick<AgentTurn, "history" | "note">,
  own: readonly Message[],
  form: RequestForm,
): Promise<ModelMessage[]> {
  const toId = createRequestIds(form.choice.provider);
  const earlier = addNote(await convertHistory(history, form, toId), note);
  const messages = [...earlier, ...(await convertHistory(own, form, toId))];
  return messages.at(-1)?.role === "assistant" ? [...messages, { role: "user", content: GO_ON }] : messages;
}

async function convertHistory(
  history: readonly Message[],
  form: RequestForm,
  toId: (stored: string) => string,
): Promise<ModelMessage[]> {
  const messages: ModelMessage[] = [];
  for (const item of buildHistoryItems(history)) {
    if (item.type === "response") {
      const [first, ...results] = await buildResponseMessages(item, form, toId);
      const last = messages.at(-1);
      if (first.content.length === 0) continue; // nothing but spaces
      if (last?.role === "assistant") messages[messages.length - 1] = joinAssistantMessages(last, first);
      else messages.push(first);
      messages.push(...results);
    } else if (item.message.role === "note")
      messages.push({ role: "user", content: `[Note: ${getText(item.message)}]` });
    else messages.push({ role: "user", content: await buildUserContent(item.message, form) });
  }
  return messages;
}

async function buildResponseMessages(
  response: HistoryResponse,
  { choice, offeredTools, returnsReasoning, blob }: RequestForm,
  toId: (stored: string) => string,
): Promise<[AssistantModelMessage, ...ModelMessage[]]> {
  const { calls, results, stored } = response;
  const { provider, model } = choice;
  const native = calls.filter(({ name }) => offeredTools.has(name));
  const ids = new Map<ToolCall, string>(native.map((call) => [call, toId(call.id)]));
  const content = buildAssistantContent(response, {
    provider,
    isNative: (call) => ids.has(call),
    getRequestId: (call) => ids.get(call) ?? call.id,
    // Reasoning is of use only to the model that wrote it; others refuse it.
    returnsReasoning: returnsReasoning && stored?.provider === provider && stored.model === model,
  });
  const called = native.map((call) => ({
    id: ids.get(call) ?? call.id,
    name: call.name,
    result: results.get(call.id) ?? { parts: [textPart(NO_RESULT)] },
  }));
  return [{ role: "assistant", content }, ...(await buildResultMessages(called, provider, blob))];
}

/** Many servers refuse two messages of the assistant in a row, which stand there when no result is between them. */
function joinAssistantMessages(
  one: AssistantModelMessage,
  other: AssistantModelMessage,
): AssistantModelMessage {
  const [first, ...more] = getContentParts(other);
  const next =
    first?.type === "text" ? [{ ...first, text: `\n\n${first.text}` }, ...more] : getContentParts(other);
  return { ...one, content: [...getContentParts(one), ...next] };
}

function getContentParts({ content }: AssistantModelMessage) {
  return typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
}

async function buildUserContent(message: Message, form: RequestForm): Promise<UserContent> {
  if (message.parts.every((part) => part.type === "text")) return getText(message);
  return Promise.all(message.parts.map((part) => toContentPart(part, form)));
}

async function toContentPart(part: Part, { blob }: RequestForm) {
  if (part.type === "image") {
    const data = await blob(part.blob);
    if (data !== undefined) return { type: "file" as const, data, mediaType: part.mimeType };
  }
  return { type: "text" as const, text: formatPartText(part) };
}

/** A note for this turn only stands at the end, where it leaves the beginning of the next request as it was. */
function addNote(messages: readonly ModelMessage[], note: string | undefined): readonly ModelMessage[] {
  if (note === undefined || note === "") return messages;
  const added = { type: "text" as const, text: `[From the system, not from the person]\n${note}` };
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = messages[at];
  if (last?.role !== "user") return [...messages, { role: "user", content: [added] }];
  const said =
    typeof last.content === "string" ? [{ type: "text" as const, text: last.content }] : last.content;
  return messages.with(at, { ...last, content: [...said, added] });
}
