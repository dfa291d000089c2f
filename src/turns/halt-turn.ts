import type { Message } from "../core/message.ts";
import type { Process } from "../core/process.ts";
import { describeExit, formatCommand } from "../core/process-report.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";

interface HaltContext {
  readonly store: Store;
  readonly clock: Clock;
}

/** A turn that brought its process down twice would bring down the next one, too. */
const MAX_ATTEMPTS = 2;

/** Why a turn that a crash interrupted is not run again; nothing if it is. */
export async function findHaltReason(
  turn: Turn,
  shown: readonly Message[],
  run: HaltContext,
): Promise<string | undefined> {
  const after = selectTurnMessages(turn, shown);
  const calls = after.flatMap(({ toolCalls = [] }) => toolCalls);
  const acted = calls.filter(({ effect }) => effect === "external");
  if (acted.length > 0) {
    const names = [...new Set(acted.map(({ name }) => name))].join(", ");
    const became = await describeStartedProcesses(turn.session, after[0]?.at ?? 0, run);
    return `Postrider was interrupted while this was being done, and ${names} may have acted already. So nothing was done again: look at what has happened, and tell me how to go on.${became}`;
  }
  if (turn.attempt <= MAX_ATTEMPTS) return undefined;
  return `Postrider ended ${turn.attempt - 1} times while this was being answered, so it was not tried again.`;
}

/** Commands outlive the process that waited for them: says how those that the turn started have ended. */
async function describeStartedProcesses(session: string, since: number, run: HaltContext): Promise<string> {
  const asked = { asker: { everyone: true }, session, endedSince: since, foreground: true } as const;
  const begun = (await run.store.processes.listProcesses(asked))
    .filter(({ begunAt }) => begunAt >= since)
    .toReversed();
  const words: string[] = [];
  for (const process of begun)
    words.push(`\n\n${formatCommand(process.command)} ${await describeProcess(process, run)}.`);
  return words.join("");
}

/** The process that was to run it is gone: a command that does not run yet never will. */
async function describeProcess({ id, status }: Process, run: HaltContext): Promise<string> {
  const { store, clock } = run;
  if (status.state === "ended") return describeExit(status.exit);
  if (status.state === "running") return `still runs (${id})`;
  const now = clock.now();
  const ended = await store.processes.endProcess({ id, exit: { unknown: true }, onlyIfStarting: true, now });
  if (!isRefused(ended)) return describeProcess(ended, run);
  // It began in that moment.
  const later = await store.processes.getProcess({ asker: { everyone: true }, id });
  return later === undefined ? "is gone with its row" : describeProcess(later, run);
}

/** What the turn's earlier attempts have stored. */
export function selectTurnMessages({ session, inputs }: Turn, shown: readonly Message[]): readonly Message[] {
  const last = Math.max(0, ...inputs);
  return shown.filter((message) => message.session === session && message.seq > last);
}
