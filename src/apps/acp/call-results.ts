import type { Message } from "../../core/message.ts";

export interface CallResults {
  /** By the place of the message that calls: a result for each of its calls. */
  readonly resultsAt: ReadonlyMap<number, readonly (Message | undefined)[]>;
  /** The places of these results. */
  readonly resultIndexes: ReadonlySet<number>;
}

/** A result belongs to the nearest call before it that has its id; where a message repeats an id, in order. */
export function pairCallResults(history: readonly Message[]): CallResults {
  const resultsAt = new Map<number, (Message | undefined)[]>();
  const taken = new Set<number>();
  const waiting = new Map<string, { readonly from: number; readonly places: number[] }>();
  for (const [at, message] of history.entries()) {
    if (message.role === "assistant" && message.toolCalls !== undefined) {
      resultsAt.set(at, []);
      for (const [place, { id }] of message.toolCalls.entries()) {
        const here = waiting.get(id);
        if (here?.from === at) here.places.push(place);
        else waiting.set(id, { from: at, places: [place] });
      }
    } else if (message.role === "tool" && message.toolCallId !== undefined) {
      const here = waiting.get(message.toolCallId);
      const place = here?.places.shift();
      const results = here && resultsAt.get(here.from);
      if (place === undefined || results === undefined) continue;
      results[place] = message;
      taken.add(at);
    }
  }
  return { resultsAt, resultIndexes: taken };
}
