import { PostriderError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Turn } from "../core/turn.ts";
import { joinDeltas, omitPromptTokens } from "../core/usage.ts";
import type { AgentAnswer } from "./answer-recorder.ts";
import { recordAbandonedUsage, retryStore, storeEnd } from "./answer-store.ts";
import { type AnswerWriter, createAnswerWriter } from "./answer-writer.ts";
import { compressIfNeeded } from "./compress.ts";
import { findHalt } from "./halt-turn.ts";
import { runAgentOnce } from "./run-agent.ts";
import type { TurnContext, TurnEnd, TurnHooks, TurnJob } from "./turn-hooks.ts";

/**
 * Answers a claimed turn and stores its end. A turn that was stopped or failed ends with the part of the answer that
 * arrived, marked as interrupted. The store is asked as the system, not as a person.
 */
export async function runTurn(turn: Turn, context: TurnContext, hooks: TurnHooks = {}): Promise<TurnEnd> {
  let end: TurnEnd | undefined;
  try {
    end = await answerAndStore({ turn, context, hooks });
    return end;
  } finally {
    hooks.onEnd?.(end);
  }
}

async function answerAndStore(job: TurnJob): Promise<TurnEnd> {
  const { turn, hooks } = job;
  const history = await readTurnHistory(job);
  hooks.onStart?.(
    history.filter(({ session, seq }) => session === turn.session && turn.inputs.includes(seq)),
  );
  const writer = createAnswerWriter(job, history);
  const answer = await resolveAnswer(job, history, writer);
  const deliveries = await hooks.buildDeliveries?.(answer);
  const finished = await storeEnd(job, answer, deliveries);
  writer.release();
  const { outcome, text, reason } = answer;
  return { ...finished, outcome, text, ...(reason !== undefined && { reason }) };
}

async function readTurnHistory({ turn, context, hooks }: TurnJob): Promise<readonly Message[]> {
  if (hooks.readHistory !== undefined) return hooks.readHistory();
  const { session } = turn;
  return (await context.store.messages.readHistory({ asker: { everyone: true }, session })) ?? [];
}

async function resolveAnswer(
  job: TurnJob,
  history: readonly Message[],
  writer: AnswerWriter,
): Promise<AgentAnswer> {
  const { turn, context } = job;
  const halt = await findHalt(job, history);
  if (halt?.outcome === "failed") writer.fail(halt.reason);
  const answer =
    halt === undefined ? await answerTurn(job, history, writer) : writer.end(halt.outcome === "interrupted");
  if (answer.outcome === "interrupted" && context.isHandedOver?.()) {
    await recordAbandonedUsage(job, answer.usage);
    throw new PostriderError("closed", `Turn ${turn.number} was handed over to another runner.`);
  }
  return answer;
}

/** Compresses a conversation that is too long for the model: before the agent runs, or when the agent reports it. */
async function answerTurn(
  job: TurnJob,
  history: readonly Message[],
  writer: AnswerWriter,
): Promise<AgentAnswer> {
  const { prepare } = job.hooks;
  const prepared = prepare === undefined ? {} : await retryStore(() => prepare(), job);
  const ask = (shown: readonly Message[]): Promise<AgentAnswer> => runAgentOnce(job, prepared, shown, writer);
  const isCompressed = await compressSession(job, false);
  const first = await ask(isCompressed ? await readTurnHistory(job) : history);
  if (!first.tooLong || !(await compressSession(job, true))) return first;
  const second = await ask(await readTurnHistory(job));
  if (first.usage === undefined) return second;
  return { ...second, usage: joinDeltas(omitPromptTokens(first.usage), second.usage ?? {}) };
}

/** The turn continues if this fails. True if the session is shorter now. */
async function compressSession({ turn, context, hooks }: TurnJob, force: boolean): Promise<boolean> {
  const { store, agent, clock, signal } = context;
  const { compression, findSpeaker: speaker } = hooks;
  if (compression === undefined) return false;
  const { session } = turn;
  const { model } = turn.settings;
  const options = { store, agent, clock, session, turn, share: compression.at, force, signal, speaker };
  const done = await compressIfNeeded({ ...options, ...(model !== undefined && { model }) });
  if (done?.notice !== undefined) await compression.notify(done.notice);
  return done?.outcome === "compressed";
}
