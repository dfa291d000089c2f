import { existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { type Conversation, promptIn, type Run } from "./conversation.ts";
import type { Findings } from "./judge.ts";
import { type Block, shownBy } from "./shown.ts";
import type { Update } from "./wire.ts";

/** The format of `postrider sessions show --json`. */
interface Stored {
  readonly session: string;
  readonly seq: number;
  readonly role: string;
  readonly parts: readonly { readonly text: string | null }[];
  readonly reasoning: string | null;
  readonly tool_calls:
    | readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[]
    | null;
  readonly tool_call_id: string | null;
  readonly origin: { readonly interrupted: boolean | null } | null;
  readonly extra: { readonly plan?: readonly { readonly text: string; readonly state: string }[] } | null;
}

/** Other commands print the same messages as the replay. */
export function checkStored(json: string, replay: readonly Update[], { broken }: Findings): void {
  const { blocks } = shownBy(replay);
  const stored = storedIn(json);
  for (const [at, block] of blocks.entries()) {
    const { number, prompts, runs, messages, isStopped } = block;
    const other = stored[at];
    if (!isDeepStrictEqual(other, { number, prompts, runs, messages, isStopped }))
      broken.push(`what is stored of ${number} is not what was shown: ${JSON.stringify(other)}`);
  }
  if (blocks.length !== stored.length)
    broken.push(`${stored.length} prompts are stored, ${blocks.length} shown`);
}

export type StoredBlock = Omit<Block, "cards">;

/** The stored messages of each prompt, in order. */
export function storedIn(json: string): StoredBlock[] {
  const { messages } = JSON.parse(json) as { readonly messages: readonly Stored[] };
  const starts = messages.flatMap(({ role }, at) => (role === "user" ? [at] : []));
  return starts.map((start, at) => blockOf(messages.slice(start, starts[at + 1])));
}

function blockOf([first, ...rest]: readonly Stored[]): StoredBlock {
  const runs: Run[] = [];
  const named = new Map<string, string>();
  const results = new Map(rest.map((message) => [message.tool_call_id, textOf(message).trim()]));
  const speak = (kind: "text" | "thought", text: string, id: string): void => {
    if (text === "") return;
    const last = runs.at(-1);
    named.set(`${kind} ${id}`, text);
    if (last?.kind === kind) runs[runs.length - 1] = { kind, text: last.text + text };
    else runs.push({ kind, text });
  };
  for (const message of rest.filter(({ role }) => role === "assistant")) {
    const id = nameOf(message);
    speak("thought", message.reasoning ?? "", id);
    speak("text", textOf(message), id);
    const plan = message.extra?.plan;
    if (plan !== undefined)
      runs.push({ kind: "plan", entries: plan.map(({ text, state }) => `${text} (${state})`) });
    for (const call of message.tool_calls ?? []) {
      const result = results.get(call.id);
      const given = JSON.stringify(call.arguments);
      runs.push({ kind: "call", name: call.name, given, ...(result !== undefined && { result }) });
    }
  }
  return {
    number: promptIn(first === undefined ? "" : textOf(first)) ?? 0,
    prompts: first === undefined ? [] : [nameOf(first)],
    runs,
    messages: named,
    isStopped: rest.some(({ origin }) => origin?.interrupted === true),
  };
}

function nameOf({ session, seq }: Stored): string {
  return `${session}:${seq}`;
}

function textOf({ parts }: Stored): string {
  return parts.map(({ text }) => text ?? "").join("");
}

/** A side effect was shown before it ran, ran once per call, and ran if the call has a result. */
export function checkEffects(
  { prompts, effects: file }: Pick<Conversation, "prompts" | "effects">,
  replay: readonly Update[],
  { lost, doubled, broken }: Findings,
): void {
  const done = Map.groupBy(effectsIn(file), (label) => label);
  const blocks = new Map(shownBy(replay).blocks.map((block) => [block.number, block]));
  for (const [label, times] of done)
    if (times.length > 1) doubled.push(`${label} was done ${times.length} times`);
  for (const { number, effects } of prompts) {
    for (const label of effects) {
      const given = JSON.stringify({ command: `note ${label}` });
      const call = blocks.get(number)?.runs.find((run) => run.kind === "call" && run.given === given);
      if (call === undefined && done.has(label)) broken.push(`${label} was done and never told`);
      if (call?.kind === "call" && call.result !== undefined && !done.has(label))
        lost.push(`${label} has a result and was not done`);
    }
  }
  const known = new Set(prompts.flatMap(({ effects }) => effects));
  for (const label of done.keys()) if (!known.has(label)) broken.push(`${label} was not to be done`);
}

export function effectsIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}
