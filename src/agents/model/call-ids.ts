import type { Message } from "../../core/message.ts";

/** Gives each call a name that no other in the session has: some providers count from the beginning in each answer. */
export function callIds(history: readonly Message[]): (given: string) => string {
  const taken = new Set(history.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
  return (given) => {
    const name = given || "call";
    let id = name;
    for (let number = 2; taken.has(id); number += 1) id = `${name}-${number}`;
    taken.add(id);
    return id;
  };
}
