import { type Message, type NewMessage, textPart } from "../../core/message.ts";
import type { Agent, AgentEvent, AgentTurn } from "../../ports/agent.ts";
import type { ToolOutput } from "../../ports/tool.ts";
import { announceCall, executeCall } from "../call-tool.ts";
import { askModel, type RoundResult, toFailedEvent } from "./ask-model.ts";
import { createCallIds } from "./call-ids.ts";
import { formatMissingKey, resolveModelChoice, resolveModelWindow } from "./choice.ts";
import { formatEmptyAnswer } from "./finish.ts";
import { buildRequestMessages } from "./history-messages.ts";
import { fetchModelNames } from "./model-names.ts";
import type { ModelChoice, ProviderName } from "./provider.ts";

/** How often a request is retried that the provider rejected temporarily (429, 5xx) or that the network lost. */
const RETRIES = 2;
/** A model that still calls tools after this many responses is in a loop, and each one costs money. */
const MAX_ROUNDS = 50;
/** After this many responses in a row with invalid calls only, the model does not learn from the errors. */
const MAX_INVALID_ROUNDS = 5;

export interface ModelOptions {
  readonly retries?: number;
  /** The settings of another provider, which a chat can choose as `provider:model`; `undefined` if it has no key. */
  other?(provider: ProviderName): ModelChoice | undefined;
}

/** An agent on a model of any provider; a chat can choose another model, of another provider as `provider:model`. */
export function model(own: ModelChoice, options: ModelOptions = {}): Agent {
  const { retries = RETRIES, other } = options;
  /** Models that refused tools: from then on, requests to them offer none. */
  const toolless = new Set<string>();
  return {
    name: own.model,
    canTitle: true,
    contextWindow: resolveModelWindow(own.model, own, other),
    getContextWindow: (name) => resolveModelWindow(name, own, other),
    models: (signal) => fetchModelNames(own, signal),
    async *run(turn, signal) {
      const choice = resolveModelChoice(turn.model, own, other);
      if (typeof choice === "string") yield { type: "failed", reason: formatMissingKey(choice) };
      else yield* answerWithModel(turn, { choice, retries, toolless }, signal);
    },
  };
}

interface AnswerOptions {
  readonly choice: ModelChoice;
  readonly retries: number;
  readonly toolless: Set<string>;
}

/** Requests a response, runs the tools that it calls, and repeats with their results until it calls none. */
async function* answerWithModel(
  turn: AgentTurn,
  { choice, retries, toolless }: AnswerOptions,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  const name = `${choice.provider}:${choice.model}`;
  try {
    const toUniqueId = createCallIds(turn.history);
    const blobs = cacheTurnBlobs(turn);
    /** The responses and results of this turn, in their stored form. */
    const turnMessages: Message[] = [];
    let returnsReasoning = true;
    let invalidRounds = 0;
    let hasCalled = false;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (signal.aborted) return;
      const { tools = [] } = turn;
      const offersTools = tools.length > 0 && !toolless.has(name);
      const offered = new Set(offersTools ? tools.map((tool) => tool.name) : []);
      const messages = await buildRequestMessages(turn, turnMessages, {
        choice,
        offeredTools: offered,
        returnsReasoning,
        blob: blobs.read,
      });
      const response = `${turn.history.at(-1)?.seq ?? 0}.${round}`;
      const result = yield* askModel(
        { choice, turn, messages, retries, offersTools, response, toUniqueId },
        signal,
      );
      if (result === "no_tools") {
        toolless.add(name);
        continue;
      }
      if (result === "no_reasoning") {
        returnsReasoning = false;
        continue;
      }
      if (result === undefined) return;
      if (result.calls.length === 0) {
        if (result.text.trim() === "" && !hasCalled)
          yield { type: "failed", reason: formatEmptyAnswer(choice), empty: true };
        return;
      }
      hasCalled = true;
      let isInvalidRound = true;
      turnMessages.push(toStoredMessage(turn, toResponseMessage(result)));
      for (const [at, call] of result.calls.entries()) {
        const { id, name, args, invalidReason } = call;
        // Each call is stored with its result before the next; this part links them to one response.
        if (at > 0 && !signal.aborted)
          yield { type: "model_part", from: result.from, part: { type: "call", id } };
        const requested = {
          id,
          name,
          arguments: args,
          ...(invalidReason !== undefined && { invalidReason }),
        };
        const announced = yield* announceCall(requested, tools, signal);
        const output = announced === undefined ? undefined : yield* executeCall(announced, signal);
        if (announced === undefined || output === undefined) return;
        isInvalidRound &&= announced.isInvalid;
        blobs.add(output);
        turnMessages.push(toStoredMessage(turn, toResultMessage(id, name, output)));
      }
      invalidRounds = isInvalidRound ? invalidRounds + 1 : 0;
      if (invalidRounds === MAX_INVALID_ROUNDS) {
        const reason = `${choice.model} called tools wrongly ${MAX_INVALID_ROUNDS} times in a row (unknown tools or invalid arguments), so it was stopped. Choose another model with /model, or ask differently.`;
        yield { type: "failed", reason };
        return;
      }
    }
    const reason = `${choice.model} called tools ${MAX_ROUNDS} times in a row without an answer, so it was stopped. Ask it to go on, or ask for less at once.`;
    yield { type: "failed", reason };
  } catch (error) {
    if (!signal.aborted) yield toFailedEvent(error, choice);
  }
}

function toResponseMessage({ text, reasoning, calls, from, parts }: RoundResult): NewMessage {
  return {
    role: "assistant",
    parts: text === "" ? [] : [textPart(text)],
    reasoning,
    toolCalls: calls.map(({ id, name, args }) => ({ id, name, arguments: args })),
    extra: { model: { ...from, parts } },
  };
}

function toResultMessage(id: string, name: string, { parts, failed: hasFailed }: ToolOutput): NewMessage {
  return {
    role: "tool",
    parts,
    toolCallId: id,
    toolName: name,
    ...(hasFailed && { finishReason: "error" }),
  };
}

function toStoredMessage({ session, history }: AgentTurn, message: NewMessage): Message {
  return { session, seq: history.at(-1)?.seq ?? 0, at: 0, ...message };
}

/** The blobs of the turn's messages: each is read once, and those of its own tools may not be stored yet. */
function cacheTurnBlobs(turn: AgentTurn) {
  const known = new Map<string, Promise<Uint8Array | undefined>>();
  return {
    add({ blobs = [] }: ToolOutput): void {
      for (const { hash, bytes } of blobs) known.set(hash, Promise.resolve(bytes));
    },
    read(hash: string): Promise<Uint8Array | undefined> {
      const found = known.get(hash) ?? turn.blob(hash);
      known.set(hash, found);
      return found;
    },
  };
}
