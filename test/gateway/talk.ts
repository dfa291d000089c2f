import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../support/random.ts";
import type { Judge } from "./drive.ts";
import type { ChatPlace, Witnessed } from "./protocol.ts";
import { marksIn, NOTICED } from "./verdict.ts";

const LAST_ANSWERS_MS = 90_000;

export interface Speaker {
  readonly name: string;
  readonly place: ChatPlace;
}

/** Most people write in direct chats; every fifth in a group, and every tenth in a topic of one. */
export function people(count: number, prefix = "p"): Speaker[] {
  return Array.from({ length: count }, (_, at): Speaker => {
    const name = `${prefix}${at + 1}`;
    if (at % 10 === 9) return { name, place: { chat: "group-topics", type: "group", thread: `${at % 3}` } };
    if (at % 5 === 4) return { name, place: { chat: `group-${at % 2}`, type: "group" } };
    return { name, place: { chat: `dm-${name}`, type: "dm" } };
  });
}

export interface Talking {
  readonly judge: Judge;
  readonly heard: Hearing;
  /** An addition to a text. */
  readonly words?: ((random: Random, speaker: Speaker, number: number) => string) | undefined;
  /** The longest pause between an answer and the next text. */
  readonly pauseMs?: number;
}

/** One person until the end. Resolves with the marks of their texts. */
export async function talk(
  { judge, heard, words, pauseMs = 300 }: Talking,
  { name, place }: Speaker,
  random: Random,
  signal: AbortSignal,
): Promise<Talked> {
  const marks: string[] = [];
  const say = async (): Promise<() => Promise<void>> => {
    const mark = `[${name}-${marks.length + 1}]`;
    marks.push(mark);
    const chance = random.next();
    const errand = chance < 0.15 ? ` errand ${name}-${marks.length}` : "";
    const long = chance > 0.95 ? ` long ${random.between(1900, 4500)}` : "";
    const more = words?.(random, { name, place }, marks.length) ?? "";
    const text = `${mark} pause ${random.between(0, 30)}${errand}${long}${more}`;
    const { messageId } = await judge.say(place, name, text);
    return () => heard.answer(place, mark, messageId);
  };
  while (!signal.aborted) {
    const answered = await say();
    // Some wait for the answer, some continue; nobody writes without limit before an answer.
    if (random.next() < 0.3 && marks.length % 4 !== 0) continue;
    await answered();
    await wait(random.between(0, pauseMs), undefined, { signal }).catch(() => {});
  }
  return { name, place, marks };
}

export interface Talked extends Speaker {
  readonly marks: readonly string[];
}

/** Everyone sends one more text; when that is answered, all earlier texts are settled. */
export async function lastAnswers(judge: Judge, all: readonly Talked[], errors: string[]): Promise<void> {
  const open = new Set<string>();
  for (const { name, place, marks } of all) {
    const mark = `[${name}-${marks.length + 1}]`;
    open.add(mark);
    await judge.say(place, name, mark);
  }
  let next = 0;
  const isOver = (witnessed: readonly Witnessed[]): boolean => {
    for (; next < witnessed.length; next += 1) {
      const event = witnessed[next];
      if (event?.kind === "sent") for (const mark of marksIn(event.text)) open.delete(mark);
    }
    return open.size === 0;
  };
  try {
    await judge.until("the last answers", isOver, LAST_ANSWERS_MS);
  } catch (error) {
    errors.push(`${[...open].join(" ")}: ${(error as Error).message}`);
  }
}

/** The messages that people receive. */
export interface Hearing {
  take(event: Witnessed): void;
  /** Resolves when it is answered or refused with a notice; or at the end. */
  answer(place: ChatPlace, mark: string, messageId: string): Promise<void>;
}

export function hearing(signal: AbortSignal): Hearing {
  const answered = new Set<string>();
  const waiting = new Map<string, () => void>();
  const hear = (...names: readonly string[]): void => {
    for (const name of names) {
      answered.add(name);
      waiting.get(name)?.();
      waiting.delete(name);
    }
  };
  signal.addEventListener("abort", () => hear(...waiting.keys()));
  return {
    take(event) {
      if (event.kind !== "sent") return;
      hear(...marksIn(event.text));
      if (!NOTICED.test(event.text)) return;
      // In a direct chat, any pending text; in a group the notice is a reply to its text.
      if (event.replyTo !== undefined) hear(`${event.chat}/${event.replyTo}`);
      else hear(...[...waiting.keys()].filter((name) => name.startsWith(`${event.chat}/`)));
    },
    answer: ({ chat }, mark, messageId) =>
      new Promise((resolve) => {
        const told = `${chat}/${messageId}`;
        if (signal.aborted || answered.has(mark) || answered.has(told)) return resolve();
        for (const name of [mark, told]) waiting.set(name, resolve);
      }),
  };
}
