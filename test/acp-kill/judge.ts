import { isDeepStrictEqual } from "node:util";
import type { Prompt, Run } from "./conversation.ts";
import { type Block, type Card, type Shown, shownBy } from "./shown.ts";
import type { Update } from "./wire.ts";

export interface Findings {
  readonly lost: string[];
  readonly doubled: string[];
  /** Text that is invented, changed, out of order, or not marked correctly. */
  readonly broken: string[];
}

/** Everything shown and sent in one session. */
export interface Witness {
  readonly prompts: ReadonlyMap<number, Prompt>;
  /** The prompts of the editor; no others may be shown. */
  readonly typed: ReadonlySet<number>;
  /** The prompts whose request was answered. */
  readonly answered: ReadonlySet<number>;
  /** The updates of each process, from opening the session until the next opening or its end. */
  readonly streams: readonly Shown[];
  /** The last replay of the session. */
  readonly before?: Shown;
}

export interface Held extends Findings {
  /** Prompts with an answer that the replay marks as interrupted. */
  readonly stopped: ReadonlySet<number>;
  readonly shown: ReadonlySet<number>;
}

/**
 * Compares a replay with everything shown before. `isRunning`: another process
 * runs a turn at the same time.
 */
export function hold(replay: readonly Update[], witness: Witness, isRunning = false): Held {
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const { lost, doubled, broken } = findings;
  const shown = shownBy(replay);
  doubled.push(...shown.doubled, ...repeated(replay));
  broken.push(...shown.broken);
  const blocks = new Map(shown.blocks.map((block) => [block.number, block]));

  for (const block of shown.blocks) {
    const isLast = block === shown.blocks.at(-1);
    checkBlock(block, witness, isRunning && isLast, findings);
  }
  for (const number of witness.answered) {
    const block = blocks.get(number);
    if (block === undefined) lost.push(`prompt ${number} was answered and is not there`);
    else if (block.isStopped || !isDeepStrictEqual(block.runs, witness.prompts.get(number)?.answer))
      lost.push(`prompt ${number} was answered and is not whole: ${told(block.runs)}`);
  }
  for (const stream of witness.streams) checkSeen(stream, shown, witness, findings);
  if (witness.before !== undefined) checkKept(witness.before, shown, findings);
  const stopped = shown.blocks.filter(({ isStopped }) => isStopped).map(({ number }) => number);
  return { ...findings, stopped: new Set(stopped), shown: new Set(blocks.keys()) };
}

/** A replayed answer is a prefix of the expected answer, and marked if it is incomplete. */
function checkBlock(block: Block, witness: Witness, isRunning: boolean, { lost, broken }: Findings): void {
  const { number, runs, isStopped, prompts, cards } = block;
  const prompt = witness.typed.has(number) ? witness.prompts.get(number) : undefined;
  if (prompt === undefined) {
    broken.push(`prompt ${number} was never typed here`);
    return;
  }
  if (prompts.length === 0) lost.push(`the answer to ${number} is there without its prompt`);
  if (!begins(runs, prompt.answer)) broken.push(`to ${number} was never said: ${told(runs)}`);
  const isWhole = isDeepStrictEqual(runs, prompt.answer);
  if (!isWhole && !isStopped && !isRunning)
    broken.push(`the answer to ${number} is not marked as broken off: ${told(runs)}`);
  for (const [id, { status }] of cards)
    if (status !== "completed" && status !== "failed" && !isRunning)
      broken.push(`the call ${id} is still ${status}`);
}

/** Everything that a process showed is in the replay, in the same order and with the same ids. */
function checkSeen(seen: Shown, shown: Shown, witness: Witness, findings: Findings): void {
  const { lost, doubled, broken } = findings;
  broken.push(...seen.broken);
  doubled.push(...seen.doubled);
  const places = new Map(shown.blocks.map(({ number }, at) => [number, at]));
  let last = -1;
  for (const block of seen.blocks) {
    const { number } = block;
    const place = places.get(number);
    const kept = place === undefined ? undefined : shown.blocks[place];
    if (place === undefined || kept === undefined) {
      lost.push(`of ${number} was seen, and is not there: ${told(block.runs)}`);
      continue;
    }
    if (place < last) broken.push(`${number} was seen at another place`);
    last = place;
    if (!begins(block.runs, witness.prompts.get(number)?.answer ?? []))
      broken.push(`to ${number} was shown what was never said: ${told(block.runs)}`);
    if (!begins(block.runs, kept.runs))
      lost.push(`of ${number} was seen ${told(block.runs)}, and is there ${told(kept.runs)}`);
    if (block.isStopped && !kept.isStopped) broken.push(`${number} was marked, and is not any more`);
    for (const id of block.prompts)
      if (!kept.prompts.includes(id)) broken.push(`prompt ${number} has another name now`);
    checkNames(block, kept, findings);
  }
}

function checkNames(seen: Block, kept: Block, { lost, broken }: Findings): void {
  for (const [name, text] of seen.messages) {
    const there = kept.messages.get(name);
    if (there === undefined) lost.push(`${name} was seen, and is not there: ${text}`);
    else if (!there.startsWith(text)) broken.push(`${name} was ${text}, and is ${there}`);
  }
  for (const [id, card] of seen.cards) {
    const there = kept.cards.get(id);
    if (there === undefined) lost.push(`the call ${id} was seen, and is not there`);
    else if (!isSameCall(card, there))
      broken.push(`the call ${id} was ${JSON.stringify(card)}, and is ${JSON.stringify(there)}`);
  }
}

/** A call with a result does not change; one in progress may have ended. */
function isSameCall(seen: Card, there: Card): boolean {
  if (seen.status === "completed" || seen.status === "failed") return isDeepStrictEqual(seen, there);
  const { status: _, content: __, rawOutput: ___, ...before } = seen.fields;
  const { status: ____, content: _____, rawOutput: ______, ...now } = there.fields;
  return isDeepStrictEqual(before, now);
}

/** Answers that were complete at the last replay are unchanged, in the same order. */
function checkKept(before: Shown, now: Shown, { lost, broken }: Findings): void {
  for (const [at, block] of before.blocks.entries()) {
    const here = now.blocks[at];
    if (here?.number !== block.number) {
      const isThere = now.blocks.some(({ number }) => number === block.number);
      (isThere ? broken : lost).push(`prompt ${block.number} was at place ${at}`);
    } else if (block.isStopped && !isDeepStrictEqual(block, here))
      broken.push(`what was broken off is not as it was: ${told(block.runs)}, now ${told(here.runs)}`);
  }
}

/** A message is replayed in one chunk. */
function repeated(replay: readonly Update[]): string[] {
  const names = replay.flatMap(({ sessionUpdate, messageId, toolCallId }) =>
    messageId !== undefined || toolCallId !== undefined
      ? [`${sessionUpdate} ${messageId ?? toolCallId}`]
      : [],
  );
  const seen = new Set<string>();
  return names.flatMap((name) => {
    if (seen.has(name)) return [`${name} is replayed twice`];
    seen.add(name);
    return [];
  });
}

/** Whether `some` is a prefix of `all`: complete runs, then part of one. Calls may lack their results. */
export function begins(some: readonly Run[], all: readonly Run[]): boolean {
  // Nothing follows a call before its result; parallel calls have their results in order.
  const open = some.findIndex((run) => run.kind === "call" && run.result === undefined);
  if (open >= 0 && some.slice(open).some((run) => run.kind !== "call" || run.result !== undefined))
    return false;
  return some.every((run, at) => {
    const whole = all[at];
    if (whole === undefined || whole.kind !== run.kind) return false;
    if (run.kind === "call" && whole.kind === "call") {
      const isSame = run.name === whole.name && run.given === whole.given;
      return isSame && (run.result === undefined || run.result === whole.result);
    }
    if (at < some.length - 1 || run.kind === "plan") return isDeepStrictEqual(run, whole);
    return "text" in whole && "text" in run && whole.text.startsWith(run.text);
  });
}

function told(runs: readonly Run[]): string {
  return JSON.stringify(runs.slice(-3)).slice(0, 400);
}
