import type { Message } from "../core/message.ts";
import { providerHistory } from "../core/projection.ts";
import { resetNote } from "../core/reset-notice.ts";
import type { AgentTurn } from "../ports/agent.ts";
import type { AgentAnswer } from "./answer-recorder.ts";
import { AnswerStoreError } from "./answer-store.ts";
import type { AnswerWriter } from "./answer-writer.ts";
import { startDeadline } from "./deadline.ts";
import { readEventsUntil } from "./read-events-until.ts";
import { addSpeakerNames } from "./speakers.ts";
import type { PreparedTurn, TurnJob } from "./turn-hooks.ts";

/** Runs the agent once and writes its events down. Rejects only when the store fails. */
export async function runAgentOnce(
  job: TurnJob,
  prepared: PreparedTurn,
  history: readonly Message[],
  writer: AnswerWriter,
): Promise<AgentAnswer> {
  const { agent, timeoutMs } = job.context;
  const input = buildInput(job, prepared, history);
  const deadline = startDeadline(job.context.signal, timeoutMs);
  const { signal } = deadline;
  writer.start(signal);
  try {
    for await (const event of readEventsUntil(signal, agent.run(input, signal))) {
      // The call would not be stored: an agent that continued would act, and the next attempt would act again.
      if (signal.aborted && event.type === "tool_call" && event.call.effect === "external") break;
      // After a stop, only the usage still counts.
      if (signal.aborted && event.type !== "usage") continue;
      await writer.write(event);
    }
  } catch (error) {
    // The turn stays open after a failure of the store, and is run again.
    if (error instanceof AnswerStoreError) throw error.cause;
    if (!signal.aborted) writer.fail(`The agent failed: ${formatError(error)}`);
  } finally {
    deadline.cancel();
  }
  if (deadline.isExpired()) {
    const minutes = Math.max(1, Math.round((timeoutMs ?? 0) / 60_000));
    writer.fail(`The answer took longer than ${minutes} min and was stopped.`);
  }
  return writer.end(signal.aborted);
}

function buildInput(
  { turn, context, hooks }: TurnJob,
  { note, ...prepared }: PreparedTurn,
  history: readonly Message[],
): AgentTurn {
  const notes = [turn.fresh?.noteDue ? resetNote(turn.fresh.reason) : undefined, note].filter(Boolean);
  const { model, reasoning } = turn.settings;
  return {
    session: turn.session,
    history: providerHistory(addSpeakerNames(history, hooks.findSpeaker)),
    blob: (hash) => context.store.messages.readBlob({ asker: { everyone: true }, hash }),
    ...prepared,
    ...(notes.length > 0 && { note: notes.join("\n") }),
    ...(model !== undefined && { model }),
    ...(reasoning !== undefined && { reasoning }),
  };
}

function formatError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
