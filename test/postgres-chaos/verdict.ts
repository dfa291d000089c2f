import { isMarkedAsRepeated } from "../../src/core/repetition.ts";
import { type ShownMessage, shownIn } from "../gateway/drive.ts";
import type { Witnessed } from "../gateway/protocol.ts";
import { marksIn, verdictOn } from "../gateway/verdict.ts";
import type { MessengerAccess, TurnState } from "./member.ts";

/** What one of the gateways reported about a turn. A stopped gateway reports it late, so the order means nothing. */
export interface TurnEvent {
  readonly member: string;
  readonly turn: number;
  /** Higher for each gateway that takes the turn over. */
  readonly fence: number;
  readonly state: TurnState;
}

/** A message that a gateway had begun to send when it was stopped, and the time when it went on. */
export interface InterruptedSend {
  readonly nonce: string;
  readonly continuedAt: number;
}

export interface MessengerEvidence {
  readonly name: string;
  readonly outbound: MessengerAccess["outbound"];
  readonly witnessed: readonly Witnessed[];
}

export interface Evidence {
  readonly messengers: readonly MessengerEvidence[];
  readonly turns: readonly TurnEvent[];
  readonly interruptedSends: readonly InterruptedSend[];
}

export interface MembersVerdict {
  readonly lost: readonly string[];
  readonly crossed: readonly string[];
  /** A repeated answer without a mark, or with one on a messenger where the first attempt can be found. */
  readonly repeated: readonly string[];
  readonly repeatedWithMark: readonly string[];
  /** The copies that a stopped gateway sent when it went on: the request had been made before the stop. */
  readonly lateSends: readonly string[];
  readonly doneTwice: readonly string[];
  /** A gateway ended a turn that another one had taken over. */
  readonly staleWrites: readonly string[];
  /** The ends that the store refused. */
  readonly refused: number;
  readonly said: number;
  readonly answered: number;
  readonly told: number;
}

/** Judges by the messages in the chats; only stale writes cannot be seen there. */
export function judgeMembers({ messengers, turns, interruptedSends }: Evidence): MembersVerdict {
  const verdicts = messengers.map(({ name, witnessed }) => ({ name, ...verdictOn(witnessed) }));
  const repetitions = messengers.map((messenger) => findRepetitions(messenger, interruptedSends));
  const named = (find: (verdict: (typeof verdicts)[number]) => readonly string[]): string[] =>
    verdicts.flatMap((verdict) => find(verdict).map((line) => `${verdict.name}: ${line}`));
  const sum = (count: (verdict: (typeof verdicts)[number]) => number): number =>
    verdicts.reduce((all, verdict) => all + count(verdict), 0);
  return {
    lost: named(({ lost }) => lost),
    crossed: named(({ crossed }) => crossed),
    repeated: repetitions.flatMap(({ repeated }) => repeated),
    repeatedWithMark: repetitions.flatMap(({ repeatedWithMark }) => repeatedWithMark),
    lateSends: repetitions.flatMap(({ lateSends }) => lateSends),
    doneTwice: named(({ doneTwice }) => doneTwice),
    staleWrites: findStaleWrites(turns),
    refused: turns.filter(({ state }) => state === "refused").length,
    said: sum(({ said }) => said),
    answered: sum(({ answered }) => answered),
    told: sum(({ told }) => told.length),
  };
}

interface Repetitions {
  readonly repeated: string[];
  readonly repeatedWithMark: string[];
  readonly lateSends: string[];
}

/** All copies of an answer after the first must have the mark, except for one that a stopped gateway sends late. */
function findRepetitions(
  { name, outbound, witnessed }: MessengerEvidence,
  interruptedSends: readonly InterruptedSend[],
): Repetitions {
  const found: Repetitions = { repeated: [], repeatedWithMark: [], lateSends: [] };
  const sentAt = new Map(witnessed.map(({ seq, at }) => [seq, at]));
  const isLate = ({ nonce, seq }: ShownMessage): boolean =>
    interruptedSends.some((send) => send.nonce === nonce && send.continuedAt <= (sentAt.get(seq) ?? 0));
  const copies = new Map<string, ShownMessage[]>();
  for (const message of shownIn(witnessed))
    for (const answered of nameMessage(message))
      copies.set(answered, [...(copies.get(answered) ?? []), message]);
  for (const [answered, all] of copies) {
    if (all.length === 1) continue;
    const ids = all.map(({ messageId }) => messageId).join(" and ");
    const line = `${name}: the answer to ${answered} stands in ${all[0]?.chat} as ${ids}`;
    const late = all.filter(isLate);
    const [, ...again] = all.filter((message) => !late.includes(message));
    const isAllowed = outbound === "unknowable" && again.every(({ text }) => isMarkedAsRepeated(text));
    if (again.length > 0 && !isAllowed) found.repeated.push(line);
    else if (late.length > 0) found.lateSends.push(line);
    else found.repeatedWithMark.push(line);
  }
  return found;
}

/** The texts that it answers. The later parts of a long answer have only their nonce. */
function nameMessage({ text, nonce }: ShownMessage): Iterable<string> {
  const marks = marksIn(text);
  return marks.length > 0 ? new Set(marks) : [`a text, part ${nonce},`];
}

/** The turns that a gateway has ended although another one had started them after it. */
function findStaleWrites(turns: readonly TurnEvent[]): string[] {
  const last = new Map<number, TurnEvent>();
  for (const event of turns)
    if (event.state === "started" && event.fence > (last.get(event.turn)?.fence ?? 0))
      last.set(event.turn, event);
  return turns.flatMap(({ member, turn, fence, state }) => {
    const holder = last.get(turn);
    if (state !== "finished" || holder === undefined || holder.fence <= fence) return [];
    return [`${member} ended turn ${turn}, which ${holder.member} had taken over`];
  });
}
