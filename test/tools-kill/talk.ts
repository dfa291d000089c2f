import type { Witnessed } from "../gateway/protocol.ts";
import { TOLD } from "../gateway/verdict.ts";
import { type Ask, asksIn, type Sent, sentIn } from "./asks.ts";
import { DONE, marksIn, SETTLE, WOKEN } from "./errands.ts";
import type { Belongings } from "./evidence.ts";
import type { Findings } from "./findings.ts";
import { findNeverStarted } from "./notices.ts";

/** Compares every text of one chat with its messages: each got one answer or one notice. */
export function checkTalk(
  chat: string,
  witnessed: readonly Witnessed[],
  { processes }: Pick<Belongings, "processes">,
  findings: Findings,
): readonly Ask[] {
  const shown = sentIn(witnessed, chat);
  const asks = asksIn(chat, witnessed);
  for (const message of shown) {
    const interrupted = message.text.includes("interrupted while it ran `/retry`");
    if (interrupted) {
      const ask = asks.findLast(({ seq, isUnclear, mark }) => seq < message.seq && !isUnclear && mark !== "");
      if (ask !== undefined) ask.isUnclear = true;
    }
    const mark = answeredIn(message.text);
    if (mark === undefined) continue;
    const ask = asks.findLast(
      (one) => one.mark === mark && one.seq < message.seq && one.answer === undefined,
    );
    if (ask === undefined)
      findings.doubled.push(`${chat}: ${mark} was answered more often than it was asked`);
    else ask.answer = message;
  }

  const notices = shown.filter(({ text }) => TOLD.test(text));
  const take = (after: number): Sent | undefined => {
    const at = notices.findIndex(({ seq }) => seq > after);
    return at < 0 ? undefined : notices.splice(at, 1)[0];
  };
  for (const ask of asks) {
    if (ask.answer !== undefined || ask.isUnclear) continue;
    const notice = take(ask.seq);
    if (notice === undefined) findings.lost.push(`${chat}: ${ask.mark} was neither answered nor told of`);
    else ask.notice = notice;
  }
  const never = findNeverStarted(asks, processes);
  for (const { id, watch } of processes) {
    if (!watch.wakes || never.has(id)) continue;
    const woken = shown.filter(({ text }) => text.startsWith(WOKEN) && text.includes(id));
    if (woken.length > 1)
      findings.doubled.push(`${chat}: the agent was woken ${woken.length} times by ${id}`);
    if (woken.length === 0 && take(0) === undefined)
      findings.lost.push(`${chat}: nobody was told that ${id} has ended, which was to wake the agent`);
  }
  const unclear = asks.filter((ask) => ask.isUnclear && ask.answer === undefined).length;
  for (const { text } of notices.slice(unclear))
    findings.broken.push(`${chat}: told of something that nobody waits for: ${text.slice(0, 120)}`);
  return asks;
}

/** The texts that an answer is about. */
function answeredIn(text: string): string | undefined {
  const at = text.lastIndexOf(`${DONE}[`);
  if (at >= 0) return marksIn(text.slice(at))[0]?.mark;
  return new RegExp(`^settled (${SETTLE} .+)$`).exec(text)?.[1];
}
