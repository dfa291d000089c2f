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

/** The properties of a request besides its messages. */
export interface RequestForm {
  readonly choice: ModelChoice;
  /** Names of the tools that the request offers. */
  readonly offeredTools: ReadonlySet<string>;
  /** False after the provider has refused its own reasoning. */
  readonly returnsReasoning: boolean;
  blob(hash: string): Promise<Uint8Array | undefined>;
}

/** Sent after a message of the model, because some providers answer only a message of another role. */
const GO_ON = "[Note: continue your answer.]";

/**
 * The messages of a request: the history, and the responses and tool results of this turn, both built in the same way
 * from the stored form. So every request starts with the previous one, and the provider's cache applies.
 */
export async function buildRequestMessages(
  { history, note }: Pick<AgentTurn, "history" | "note">,
  turnMessages: readonly Message[],
  form: RequestForm,
): Promise<ModelMessage[]> {
  const toId = createRequestIds(form.choice.provider);
  const earlier = addNote(await convertHistory(history, form, toId), note);
  const messages = [...earlier, ...(await convertHistory(turnMessages, form, toId))];
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
    // Only the model that wrote the reasoning can use it; others refuse it.
    returnsReasoning: returnsReasoning && stored?.provider === provider && stored.model === model,
  });
  const called = native.map((call) => ({
    id: ids.get(call) ?? call.id,
    name: call.name,
    result: results.get(call.id) ?? { parts: [textPart(NO_RESULT)] },
  }));
  return [{ role: "assistant", content }, ...(await buildResultMessages(called, provider, blob))];
}

/** Many servers refuse two assistant messages in a row, which occur if no result is between them. */
function joinAssistantMessages(
  before: AssistantModelMessage,
  after: AssistantModelMessage,
): AssistantModelMessage {
  const [first, ...more] = getContentParts(after);
  const next =
    first?.type === "text" ? [{ ...first, text: `\n\n${first.text}` }, ...more] : getContentParts(after);
  return { ...before, content: [...getContentParts(before), ...next] };
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

/** A note for this turn goes to the end, so that the next request starts with the same messages. */
function addNote(messages: readonly ModelMessage[], note: string | undefined): readonly ModelMessage[] {
  if (note === undefined || note === "") return messages;
  const added = { type: "text" as const, text: `[From the system, not from the person]\n${note}` };
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = messages[at];
  if (last?.role !== "user") return [...messages, { role: "user", content: [added] }];
  const content =
    typeof last.content === "string" ? [{ type: "text" as const, text: last.content }] : last.content;
  return messages.with(at, { ...last, content: [...content, added] });
}
