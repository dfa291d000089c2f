import { type Message, textOf } from "../core/message.ts";

/** The simplest agent: repeats what was said, and shows that it remembers what was said before. */
export function echo(history: readonly Message[]): string {
  const said = history.filter((message) => message.role === "user").map(textOf);
  const now = said.at(-1) ?? "";
  const before = said.at(-2);
  return before === undefined ? `You said: ${now}` : `You said: ${now} (before that: ${before})`;
}
