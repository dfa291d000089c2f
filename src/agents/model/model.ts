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

/** How often a request is made again that the provider could not take (429, 5xx) or that did not get through. */
const RETRIES = 2;
/** A model that still calls tools after so many answers goes in circles, and costs money with each. */
const MOST_ROUNDS = 50;
/** After this many answers in a row whose calls can all not be made, the model does not learn from what it is told. */
const MOST_WRONG_ROUNDS = 5;

export interface ModelOptions {
  readonly retries?: number;
  /** How another provider is asked, which a chat may choose as `provider:model`; nothing if there is no key for it. */
  other?(provider: ProviderName): ModelChoice | undefined;
}

/** A model of any provider; a chat may choose another of the same one, or of another as `provider:model`. */
export function model(own: ModelChoice, options: ModelOptions = {}): Agent {
  const { retries = RETRIES, other } = options;
  /** Models that have refused to be offered tools: they are asked without, at once, from then on. */
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

/** Asks, does what the model calls for, and asks again with what came of it, until it calls for nothing more. */
async function* answerWithModel(
  turn: AgentTurn,
  { choice, retries, toolless }: AnswerOptions,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  const name = `${choice.provider}:${choice.model}`;
  try {
    const unique = createCallIds(turn.history);
    const blobs = cacheTurnBlobs(turn);
    /** What this turn has said and done so far, as it is stored. */
    const own: Message[] = [];
    let returnsReasoning = true;
    let wrongRounds = 0;
    let hasActed = false;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      if (signal.aborted) return;
      const { tools = [] } = turn;
      const offersTools = tools.length > 0 && !toolless.has(name);
      const offered = new Set(offersTools ? tools.map((tool) => tool.name) : []);
      const messages = await buildRequestMessages(turn, own, {
        choice,
        offeredTools: offered,
        returnsReasoning,
        blob: blobs.read,
      });
      const response = `${turn.history.at(-1)?.seq ?? 0}.${round}`;
      const came = yield* askModel(
        { choice, turn, messages, retries, offersTools, response, toUniqueId: unique },
        signal,
      );
      if (came === "no_tools") {
        toolless.add(name);
        continue;
      }
      if (came === "no_reasoning") {
        returnsReasoning = false;
        continue;
      }
      if (came === undefined) return;
      if (came.calls.length === 0) {
        if (came.text.trim() === "" && !hasActed)
          yield { type: "failed", reason: formatEmptyAnswer(choice), empty: true };
        return;
      }
      hasActed = true;
      let isWrong = true;
      own.push(toStoredMessage(turn, toResponseMessage(came)));
      for (const [at, call] of came.calls.entries()) {
        const { id, name, args, wrong } = call;
        // Each call is stored with its result before the next; this says that they are of one response.
        if (at > 0 && !signal.aborted)
          yield { type: "model_part", from: came.from, part: { type: "call", id } };
        const wanted = { id, name, arguments: args, ...(wrong !== undefined && { wrong }) };
        const told = yield* announceCall(wanted, tools, signal);
        const output = told === undefined ? undefined : yield* executeCall(told, signal);
        if (told === undefined || output === undefined) return;
        isWrong &&= told.isInvalid;
        blobs.add(output);
        own.push(toStoredMessage(turn, toResultMessage(id, name, output)));
      }
      wrongRounds = isWrong ? wrongRounds + 1 : 0;
      if (wrongRounds === MOST_WRONG_ROUNDS) {
        const reason = `${choice.model} called tools wrongly ${MOST_WRONG_ROUNDS} times in a row (unknown tools or invalid arguments), so it was stopped. Choose another model with /model, or ask differently.`;
        yield { type: "failed", reason };
        return;
      }
    }
    const reason = `${choice.model} called tools ${MOST_ROUNDS} times in a row without an answer, so it was stopped. Ask it to go on, or ask for less at once.`;
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

/** The bytes that messages of the turn name: each is read once, and those of its own tools may not be stored yet. */
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
