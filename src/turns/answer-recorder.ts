import { MAX_PART_BYTES, type NewMessage, type ToolCall, textPart } from "../core/message.ts";
import type { PlanEntry } from "../core/plan.ts";
import type { AnswerDraft, Blob, TurnOutcome } from "../core/turn.ts";
import { joinDeltas, type UsageDelta } from "../core/usage.ts";
import type { AgentEvent, ModelResponse } from "../ports/agent.ts";

/** One character may take three bytes. */
const MAX_ANSWER_LENGTH = Math.floor(MAX_PART_BYTES / 3);
/** A message keeps at most this much data of the model's provider, as JSON; if there is more, it keeps none. */
const MAX_MODEL_DATA = 512 * 1024;

/** What an agent has answered, as it is stored and as it is said. */
export interface AgentAnswer {
  readonly outcome: TurnOutcome;
  /** Everything it said to the person, also before it called tools. */
  readonly text: string;
  /** What is not stored yet, in order; the last is the end of the answer. */
  readonly messages: readonly NewMessage[];
  /** Bytes that these messages name. */
  readonly blobs: readonly Blob[];
  readonly usage?: UsageDelta;
  readonly reason?: string;
  /** It failed because there was too much to read, before anything was said or done. */
  readonly tooLong?: true;
}

/** Takes down what an agent says and does. */
export interface AnswerRecorder {
  /** Throws when the answer is too long to be kept, or what was counted cannot be. */
  record(event: AgentEvent): void;
  /** Everything said to the person so far. */
  text(): string;
  /** What was said since the last whole message. */
  getPartial(): AnswerDraft;
  /** What was said since the messages that `written` has given. */
  getUnsaved(): AnswerDraft;
  /** What can be stored so far; it is not given again. */
  drainMessages(): Pick<AgentAnswer, "messages" | "blobs" | "usage">;
  end(isStopped: boolean): AgentAnswer;
}

/** Goes on where an earlier attempt was broken off, if there was one; `stored` is what that had stored as messages. */
export function answerRecorder(before?: AnswerDraft, stored = ""): AnswerRecorder {
  let earlier = stored;
  let said = before?.text ?? "";
  let length = said.length;
  let thought = before?.thought ?? "";
  let plan: readonly PlanEntry[] | undefined = before?.plan;
  let model: ModelData | undefined;
  let calls: ToolCall[] = [];
  let messages: NewMessage[] = [];
  let blobs: Blob[] = [];
  let usage: UsageDelta | undefined;
  let reason: string | undefined;
  let tooLong = false;
  let hasActed = false;
  let writtenLength = earlier.length;

  // Asked for with every piece: strings that are put together are copied only when somebody reads them.
  const whole = (): string => (earlier === "" || said === "" ? earlier + said : `${earlier}\n\n${said}`);

  /** What was said so far becomes a message by itself, with the tools it calls. */
  function close(): void {
    if (said === "" && thought === "" && plan === undefined && calls.length === 0) return;
    messages.push(
      buildMessage(said, thought, {
        ...(calls.length > 0 && { toolCalls: calls }),
        ...buildExtra({ plan, model }),
      }),
    );
    earlier = whole();
    said = "";
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
        // A tool's call belongs to what was said before it.
        if (calls.length > 0) close();
        length += event.text.length;
        if (length > MAX_ANSWER_LENGTH) {
          said += event.text.slice(0, event.text.length - (length - MAX_ANSWER_LENGTH));
          throw new Error("its answer is too long to be kept whole");
        }
        said += event.text;
      }
    },
    text: whole,
    getPartial: () => ({ text: said, thought, ...(plan !== undefined && { plan }) }),
    getUnsaved: () => ({ text: whole().slice(writtenLength).trimStart(), thought }),
    drainMessages() {
      close();
      // Usage is stored with the messages it paid for: a crash after them must not lose it.
      const counted = messages.length > 0 ? usage : undefined;
      const given = { messages, blobs, ...(counted !== undefined && { usage: counted }) };
      [messages, blobs] = [[], []];
      if (counted !== undefined) usage = undefined;
      writtenLength = earlier.length;
      return given;
    },
    end(isStopped) {
      if (calls.length > 0) close();
      const outcome = reason !== undefined ? "failed" : isStopped ? "interrupted" : "done";
      const last = buildMessage(said, thought, {
        ...(outcome !== "done" && { origin: { interrupted: true } }),
        ...(reason !== undefined && { finishReason: "error" }),
        ...buildExtra({ plan, model, reason }),
      });
      return {
        outcome,
        text: whole(),
        messages: [...messages, last],
        blobs,
        ...(usage !== undefined && { usage }),
        ...(reason !== undefined && { reason }),
        ...(tooLong && !hasActed && whole() === "" && { tooLong }),
      };
    },
  };
}

/**
 * Whether it belongs to a new message, where the order counts in which things were said: a message holds a thought, then
 * words, then a plan.
 */
export function needsNewMessage(
  { text, plan }: Pick<AnswerDraft, "text" | "plan">,
  event: AgentEvent,
): boolean {
  if (event.type === "thought") return text !== "" || plan !== undefined;
  return (event.type === "text" || event.type === "plan") && plan !== undefined;
}

/** Data of one response for its provider, stored with a message as `extra.model`. */
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
  const { size: _, ...kept } = model ?? { size: 0 };
  return {
    extra: {
      ...(plan !== undefined && { plan }),
      ...(model !== undefined && { model: kept }),
      ...(reason !== undefined && { error: reason }),
    },
  };
}

function buildMessage(said: string, thought: string, more: Partial<NewMessage>): NewMessage {
  return {
    role: "assistant",
    parts: said === "" ? [] : [textPart(said.toWellFormed())],
    ...(thought !== "" && { reasoning: thought.slice(0, MAX_ANSWER_LENGTH).toWellFormed() }),
    ...more,
  };
}
