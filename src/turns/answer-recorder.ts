import { MAX_PART_BYTES, type NewMessage, type ToolCall, textPart } from "../core/message.ts";
import type { AnswerDraft, Blob, PlanEntry, TurnOutcome } from "../core/turn.ts";
import { joinDeltas, type UsageDelta } from "../core/usage.ts";
import type { AgentEvent, ModelResponse } from "../ports/agent.ts";

/** One character may take three bytes. */
const MAX_ANSWER_LENGTH = Math.floor(MAX_PART_BYTES / 3);
/** The limit of provider data in a message, in characters of JSON; a message with more stores none. */
const MAX_MODEL_DATA = 512 * 1024;

/** The answer of an agent: its text, and its messages as they are stored. */
export interface AgentAnswer {
  readonly outcome: TurnOutcome;
  /** The whole text for the person, also the text before tool calls. */
  readonly text: string;
  /** Messages that are not stored yet, in order; the last one ends the answer. */
  readonly messages: readonly NewMessage[];
  /** Bytes that these messages refer to. */
  readonly blobs: readonly Blob[];
  readonly usage?: UsageDelta;
  readonly reason?: string;
  /** It failed because the prompt was too long, before any text or tool call. */
  readonly tooLong?: true;
}

/** Collects the events of an agent into messages. */
export interface AnswerRecorder {
  /** Throws when the answer is too long to be stored, or its usage is invalid. */
  record(event: AgentEvent): void;
  /** The whole text so far. */
  text(): string;
  /** The unfinished message. */
  getPartial(): AnswerDraft;
  /** The text since the last `drainMessages`. */
  getUnsaved(): AnswerDraft;
  /** Returns the messages so far, each once, with the usage. */
  drainMessages(): Pick<AgentAnswer, "messages" | "blobs" | "usage">;
  end(isStopped: boolean): AgentAnswer;
}

/** Continues the answer of an earlier attempt, if there is one: its draft, and the text of its stored messages. */
export function answerRecorder(draft?: AnswerDraft, storedText = ""): AnswerRecorder {
  let earlier = storedText;
  let text = draft?.text ?? "";
  let length = text.length;
  let thought = draft?.thought ?? "";
  let plan: readonly PlanEntry[] | undefined = draft?.plan;
  let model: ModelData | undefined;
  let calls: ToolCall[] = [];
  let messages: NewMessage[] = [];
  let blobs: Blob[] = [];
  let usage: UsageDelta | undefined;
  let reason: string | undefined;
  let tooLong = false;
  let hasActed = false;
  let drainedLength = earlier.length;

  // Called for every event: V8 copies a joined string only when it is read.
  const joinText = (): string => (earlier === "" || text === "" ? earlier + text : `${earlier}\n\n${text}`);

  /** The text so far becomes a message, with its tool calls. */
  function close(): void {
    if (text === "" && thought === "" && plan === undefined && calls.length === 0) return;
    messages.push(
      buildMessage(text, thought, {
        ...(calls.length > 0 && { toolCalls: calls }),
        ...buildExtra({ plan, model }),
      }),
    );
    earlier = joinText();
    text = "";
    thought = "";
    plan = undefined;
    model = undefined;
    calls = [];
  }

  return {
    record(event) {
      if (event.type === "usage") usage = joinDeltas(usage, event.usage);
      else if (event.type === "thought") thought += event.text;
      else if (event.type === "plan") plan = event.entries;
      else if (event.type === "model_part") model = addModelPart(model, event);
      else if (event.type === "failed") [reason, tooLong] = [event.reason, event.tooLong === true];
      else if (event.type === "message") close();
      else if (event.type === "tool_call") {
        hasActed = true;
        calls.push(event.call);
      } else if (event.type === "tool_result") {
        close();
        blobs.push(...(event.blobs ?? []));
        messages.push({
          role: "tool",
          parts: event.parts,
          toolCallId: event.id,
          toolName: event.name,
          ...(event.failed && { finishReason: "error" }),
        });
      } else if (event.type === "text") {
        // A tool call belongs to the text before it.
        if (calls.length > 0) close();
        length += event.text.length;
        if (length > MAX_ANSWER_LENGTH) {
          text += event.text.slice(0, event.text.length - (length - MAX_ANSWER_LENGTH));
          throw new Error("its answer is too long to be kept whole");
        }
        text += event.text;
      }
    },
    text: joinText,
    getPartial: () => ({ text, thought, ...(plan !== undefined && { plan }) }),
    getUnsaved: () => ({ text: joinText().slice(drainedLength).trimStart(), thought }),
    drainMessages() {
      close();
      // Usage is stored with its messages, so that a crash after them does not lose it.
      const counted = messages.length > 0 ? usage : undefined;
      const drained = { messages, blobs, ...(counted !== undefined && { usage: counted }) };
      [messages, blobs] = [[], []];
      if (counted !== undefined) usage = undefined;
      drainedLength = earlier.length;
      return drained;
    },
    end(isStopped) {
      if (calls.length > 0) close();
      const outcome = reason !== undefined ? "failed" : isStopped ? "interrupted" : "done";
      const last = buildMessage(text, thought, {
        ...(outcome !== "done" && { origin: { interrupted: true } }),
        ...(reason !== undefined && { finishReason: "error" }),
        ...buildExtra({ plan, model, reason }),
      });
      return {
        outcome,
        text: joinText(),
        messages: [...messages, last],
        blobs,
        ...(usage !== undefined && { usage }),
        ...(reason !== undefined && { reason }),
        ...(tooLong && !hasActed && joinText() === "" && { tooLong }),
      };
    },
  };
}

/** Whether an event starts a new message where the order counts: a message has a thought, then text, then a plan. */
export function needsNewMessage(
  { text, plan }: Pick<AnswerDraft, "text" | "plan">,
  event: AgentEvent,
): boolean {
  if (event.type === "thought") return text !== "" || plan !== undefined;
  return (event.type === "text" || event.type === "plan") && plan !== undefined;
}

/** Data that a provider needs again with the next request, stored with a message as `extra.model`. */
interface ModelData extends ModelResponse {
  readonly parts: readonly Readonly<Record<string, unknown>>[];
  readonly size: number;
}

function addModelPart(
  earlier: ModelData | undefined,
  { from, part }: Extract<AgentEvent, { readonly type: "model_part" }>,
): ModelData {
  const before = earlier?.response === from.response ? earlier : { parts: [], size: 0 };
  const size = before.size + JSON.stringify(part).length;
  return { ...from, parts: size > MAX_MODEL_DATA ? [] : [...before.parts, part], size };
}

function buildExtra({
  plan,
  model,
  reason,
}: {
  readonly plan: readonly PlanEntry[] | undefined;
  readonly model: ModelData | undefined;
  readonly reason?: string | undefined;
}): Pick<NewMessage, "extra"> {
  if (plan === undefined && model === undefined && reason === undefined) return {};
  const { size: _, ...data } = model ?? { size: 0 };
  return {
    extra: {
      ...(plan !== undefined && { plan }),
      ...(model !== undefined && { model: data }),
      ...(reason !== undefined && { error: reason }),
    },
  };
}

function buildMessage(text: string, thought: string, more: Partial<NewMessage>): NewMessage {
  return {
    role: "assistant",
    parts: text === "" ? [] : [textPart(text.toWellFormed())],
    ...(thought !== "" && { reasoning: thought.slice(0, MAX_ANSWER_LENGTH).toWellFormed() }),
    ...more,
  };
}
