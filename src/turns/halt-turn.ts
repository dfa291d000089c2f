import type { Message } from "../core/message.ts";
import type { Process } from "../core/process.ts";
import { exitWords, inCode } from "../core/process-news.ts";
import { isRefused } from "../core/refusal.ts";
import type { Turn } from "../core/turn.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";

interface Halting {
  readonly store: Store;
  readonly clock: Clock;
}

/** A turn that brought its process down twice would bring down the next one, too. */
const MOST_ATTEMPTS = 2;

/** Why a turn that a crash interrupted is not run again; nothing if it is. */
export async function reasonToHalt(
  turn: Turn,
  shown: readonly Message[],
  run: Halting,
): Promise<string | undefined> {
  const after = messagesOf(turn, shown);
  const calls = after.flatMap(({ toolCalls = [] }) => toolCalls);
  const acted = calls.filter(({ effect }) => effect === "external");
  if (acted.length > 0) {
    const names = [...new Set(acted.map(({ name }) => name))].join(", ");
    const became = await whatBecame(turn.session, after[0]?.at ?? 0, run);
    return `Postrider was interrupted while this was being done, and ${names} may have acted already. So nothing was done again: look at what has happened, and tell me how to go on.${became}`;
  }
  if (turn.attempt <= MOST_ATTEMPTS) return undefined;
  return `Postrider ended ${turn.attempt - 1} times while this was being answered, so it was not tried again.`;
}

/** Commands outlive the process that waited for them: says how those that the turn started have ended. */
async function whatBecame(session: string, since: number, run: Halting): Promise<string> {
  const asked = { asker: { everyone: true }, session, endedSince: since, foreground: true } as const;
  const begun = (await run.store.processes(asked)).filter(({ begunAt }) => begunAt >= since).toReversed();
  const words: string[] = [];
  for (const process of begun)
    words.push(`\n\n${inCode(process.command)} ${await howItStands(process, run)}.`);
  return words.join("");
}

/** The process that was to run it is gone: a command that does not run yet never will. */
async function howItStands({ id, status }: Process, run: Halting): Promise<string> {
  const { store, clock } = run;
  if (status.state === "ended") return exitWords(status.exit);
  if (status.state === "running") return `still runs (${id})`;
  const now = clock.now();
  const ended = await store.endProcess({ id, exit: { unknown: true }, onlyIfStarting: true, now });
  if (!isRefused(ended)) return howItStands(ended, run);
  // It began in that moment.
  const later = await store.process({ asker: { everyone: true }, id });
  return later === undefined ? "is gone with its row" : howItStands(later, run);
}

/** What the turn's earlier attempts have stored. */
export function messagesOf({ session, inputs }: Turn, shown: readonly Message[]): readonly Message[] {
  const last = Math.max(0, ...inputs);
  return shown.filter((message) => message.session === session && message.seq > last);
}
