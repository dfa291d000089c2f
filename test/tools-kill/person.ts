import { setTimeout as wait } from "node:timers/promises";
import type { Judge } from "../gateway/drive.ts";
import type { ChatPlace, Witnessed } from "../gateway/protocol.ts";
import { TOLD } from "../gateway/verdict.ts";
import type { Random } from "../support/random.ts";
import { type CommandStep, DONE, type Errand, markOf, SETTLE } from "./errands.ts";

/** A person who sends one text after another, waits for each result, and answers approval requests. */
export interface Person {
  readonly name: string;
  readonly place: ChatPlace;
  /** Receives the messages of their chat. */
  take(event: Witnessed): void;
  /** Sends errands until there are enough and the run is over. Resolves when the last one has been answered. */
  talk(): Promise<void>;
}

export interface PersonOptions {
  readonly judge: Judge;
  readonly name: string;
  readonly errands: readonly Errand[];
  readonly random: Random;
  /** The minimum number. */
  readonly turns: number;
  isOver(): boolean;
  /** Waits that timed out. */
  readonly errors: string[];
}

/** The time limit of an answer. */
const PATIENCE_MS = 60_000;
/** The notice about a command of the chat that may have taken effect. */
const INTERRUPTED_LINE = /interrupted while it ran `(\/[^`]+)`/;

type Response = "answered" | "told" | "line" | "late";

export function person(options: PersonOptions): Person {
  const { judge, name, errands, random, turns, errors } = options;
  const place: ChatPlace = { chat: `dm-${name}`, type: "dm" };
  const steps = errands.flatMap((errand) => errand.steps);
  /** By the number of the approval request: its buttons, and the answer. */
  const questions = new Map<string, { readonly messageId: string; readonly line: string }>();
  const pressing = new Set<Promise<void>>();
  let waiting: { readonly words: string; resolve(response: Response): void } | undefined;

  function take(event: Witnessed): void {
    if (event.kind !== "sent" || event.chat !== place.chat) return;
    const { text, messageId, buttons } = event;
    const line = buttons?.[0]?.[0]?.line;
    if (line !== undefined) answer(messageId, line, text);
    const interrupted = INTERRUPTED_LINE.exec(text)?.[1];
    if (interrupted !== undefined) again(interrupted);
    if (interrupted?.startsWith("/retry")) waiting?.resolve("line");
    if (waiting !== undefined && text.includes(waiting.words)) waiting.resolve("answered");
    else if (TOLD.test(text)) waiting?.resolve("told");
  }

  function answer(messageId: string, line: string, text: string): void {
    const number = /\d+/.exec(line)?.[0] ?? "";
    const step = steps.find(
      (one): one is CommandStep => one.kind === "command" && text.includes(one.command),
    );
    const words = step?.asked === "no" ? `/deny ${number}` : `/approve ${number}`;
    questions.set(number, { messageId, line: words });
    later(() => press(messageId, words));
  }

  /** Sends the line once more, because it may not have been accepted. */
  function again(line: string): void {
    const question = questions.get(/\d+/.exec(line)?.[0] ?? "");
    if (question !== undefined) later(() => press(question.messageId, question.line));
  }

  async function press(messageId: string, line: string): Promise<void> {
    await wait(random.between(0, 120));
    if (random.next() < 0.3) await judge.say(place, name, line);
    else await judge.press(place.chat, messageId, name, line);
  }

  function later(work: () => Promise<void>): void {
    const done = work().finally(() => pressing.delete(done));
    pressing.add(done);
  }

  async function say(text: string, words: string): Promise<Response> {
    const { promise, resolve } = Promise.withResolvers<Response>();
    waiting = { words, resolve };
    const late = new AbortController();
    await judge.say(place, name, text);
    const response = await Promise.race([
      promise,
      wait(PATIENCE_MS, "late" as const, { signal: late.signal }).catch(() => "late" as const),
    ]);
    late.abort();
    waiting = undefined;
    if (response === "late") errors.push(`${name} heard nothing of ${text} for ${PATIENCE_MS / 1000} s`);
    return response;
  }

  /** When this is answered, all earlier requests are settled. */
  let settled = 0;
  async function settle(): Promise<void> {
    settled += 1;
    await say(`${SETTLE} ${name}.${settled}.`, `settled ${SETTLE} ${name}.${settled}.`);
  }

  async function askFor(errand: Errand): Promise<void> {
    const mark = markOf(errand);
    let response = await say(`${mark} please`, `${DONE}${mark}`);
    if (response !== "told" || random.next() < 0.6) return;
    if (random.next() < 0.5) {
      const next = markOf(errand, 2);
      await say(`${next} again`, `${DONE}${next}`);
      return;
    }
    response = await say("/retry", `${DONE}${mark}`);
    // It may have taken effect: then its results are still pending.
    if (response === "line") await settle();
  }

  return {
    name,
    place,
    take,
    async talk() {
      for (const [index, errand] of errands.entries()) {
        if (options.isOver() && index >= turns) break;
        await askFor(errand);
      }
      await settle();
      await Promise.all(pressing);
    },
  };
}
