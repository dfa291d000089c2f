import type { Message } from "../core/message.ts";
import { EDITOR_PLATFORM } from "../core/platforms.ts";
import type { Process } from "../core/process.ts";
import { describeExit, formatCommand } from "../core/process-report.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import type { TurnContext, TurnJob } from "./turn-hooks.ts";

/** A turn that crashed its process twice would crash the next one, too. */
const MAX_ATTEMPTS = 2;

/** How a turn ends if the agent does not run for it. */
export type Halt =
  | { readonly outcome: "interrupted" }
  | { readonly outcome: "failed"; readonly reason: string };

/** Why the agent does not run for a turn, after a crash; `undefined` if it runs. */
export async function findHalt(job: TurnJob, history: readonly Message[]): Promise<Halt | undefined> {
  if (isAbandonedByEditor(job)) return { outcome: "interrupted" };
  const reason = job.turn.attempt === 1 ? undefined : await findHaltReason(job, history);
  return reason === undefined ? undefined : { outcome: "failed", reason };
}

/** The person saw in the editor that the answer was interrupted, and asks again if they still want it. */
function isAbandonedByEditor({ turn, hooks }: TurnJob): boolean {
  return turn.target.platform === EDITOR_PLATFORM && (turn.attempt > 1 || hooks.writeAhead !== true);
}

async function findHaltReason(
  { turn, context }: TurnJob,
  history: readonly Message[],
): Promise<string | undefined> {
  const after = selectTurnMessages(turn, history);
  const calls = after.flatMap(({ toolCalls = [] }) => toolCalls);
  const acted = calls.filter(({ effect }) => effect === "external");
  if (acted.length > 0) {
    const names = [...new Set(acted.map(({ name }) => name))].join(", ");
    const states = await describeStartedProcesses(turn.session, after[0]?.at ?? 0, context);
    return `Postrider was interrupted while this was being done, and ${names} may have acted already. So nothing was done again: look at what has happened, and tell me how to go on.${states}`;
  }
  if (turn.attempt <= MAX_ATTEMPTS) return undefined;
  return `Postrider ended ${turn.attempt - 1} times while this was being answered, so it was not tried again.`;
}

/** Commands outlive the process that waited for them: describes those that the turn started. */
async function describeStartedProcesses(
  session: string,
  since: number,
  context: Pick<TurnContext, "store" | "clock">,
): Promise<string> {
  const query = { asker: { everyone: true }, session, endedSince: since, foreground: true } as const;
  const started = (await context.store.processes.listProcesses(query))
    .filter(({ begunAt }) => begunAt >= since)
    .toReversed();
  const sentences: string[] = [];
  for (const process of started)
    sentences.push(`\n\n${formatCommand(process.command)} ${await describeProcess(process, context)}.`);
  return sentences.join("");
}

/** The process that would have started the command is gone: a command that has not started never will. */
async function describeProcess(
  { id, status }: Process,
  context: Pick<TurnContext, "store" | "clock">,
): Promise<string> {
  const { store, clock } = context;
  if (status.state === "ended") return describeExit(status.exit);
  if (status.state === "running") return `still runs (${id})`;
  const now = clock.now();
  const ended = await store.processes.endProcess({ id, exit: { unknown: true }, onlyIfStarting: true, now });
  if (!isRefused(ended)) return describeProcess(ended, context);
  // The command started meanwhile.
  const later = await store.processes.getProcess({ asker: { everyone: true }, id });
  return later === undefined ? "has no record any more" : describeProcess(later, context);
}

/** The messages that the turn's earlier attempts stored. */
export function selectTurnMessages(
  { session, inputs }: Turn,
  history: readonly Message[],
): readonly Message[] {
  const last = Math.max(0, ...inputs);
  return history.filter((message) => message.session === session && message.seq > last);
}
