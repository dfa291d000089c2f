import type { Message } from "../../core/message.ts";

export interface CallResults {
  /** By the index of the message with the calls: the result of each call. */
  readonly resultsAt: ReadonlyMap<number, readonly (Message | undefined)[]>;
  /** The indexes of these results. */
  readonly resultIndexes: ReadonlySet<number>;
}

/** A result belongs to the nearest earlier call with its id. If one message repeats an id, results match in order. */
export function pairCallResults(history: readonly Message[]): CallResults {
  const resultsAt = new Map<number, (Message | undefined)[]>();
  const resultIndexes = new Set<number>();
  const openCalls = new Map<string, { readonly from: number; readonly positions: number[] }>();
  for (const [at, message] of history.entries()) {
    if (message.role === "assistant" && message.toolCalls !== undefined) {
      resultsAt.set(at, []);
      for (const [position, { id }] of message.toolCalls.entries()) {
        const here = openCalls.get(id);
        if (here?.from === at) here.positions.push(position);
        else openCalls.set(id, { from: at, positions: [position] });
      }
    } else if (message.role === "tool" && message.toolCallId !== undefined) {
      const here = openCalls.get(message.toolCallId);
      const position = here?.positions.shift();
      const results = here && resultsAt.get(here.from);
      if (position === undefined || results === undefined) continue;
      results[position] = message;
      resultIndexes.add(at);
    }
  }
  return { resultsAt, resultIndexes };
}
