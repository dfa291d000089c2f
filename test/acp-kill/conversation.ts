import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Random, seeded } from "../support/random.ts";

/** The pieces of an answer as an editor shows them: consecutive text is one run. */
export type Run =
  | { readonly kind: "thought" | "text"; readonly text: string }
  | { readonly kind: "plan"; readonly entries: readonly string[] }
  | { readonly kind: "call"; readonly name: string; readonly given: string; readonly result?: string };

/** One prompt: its text, the agent's answer, and whether its approvals are allowed. */
export interface Prompt {
  readonly number: number;
  readonly text: string;
  readonly answer: readonly Run[];
  /** The number of updates of the answer, with calls and results. */
  readonly pieces: number;
  /** The labels of the calls with side effects, in order. */
  readonly effects: readonly string[];
  readonly isAllowed: boolean;
  readonly asks: boolean;
}

export interface Conversation {
  readonly prompts: readonly Prompt[];
  /** For `--agent`. */
  readonly agent: string;
  /** Calls with side effects write their label here. */
  readonly effects: string;
}

/**
 * Prompts and a script that answers them. Every piece of an answer starts with a unique label, `17.4`, so that
 * each piece can be assigned to its prompt, and duplicates are detected.
 */
export function makeConversation(folder: string, seed: number, count: number): Conversation {
  const random = seeded(seed);
  const effects = join(folder, "effects.txt");
  const made = Array.from({ length: count }, (_, at) => makePrompt(at + 1, random, effects));
  const file = join(folder, "script.json");
  writeFileSync(
    file,
    JSON.stringify({ answers: made.map(({ prompt, say }) => ({ to: `^${prompt.text}$`, say })) }),
  );
  return { prompts: made.map(({ prompt }) => prompt), agent: `script:${file}`, effects };
}

function promptText(number: number): string {
  return `prompt ${number}, please`;
}

/** The prompt of a text, by its first label. */
export function numberIn(text: string): number | undefined {
  const [, number] = /\b(\d+)\.\d+\b/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number);
}

export function promptIn(text: string): number | undefined {
  const [, number] = /^prompt (\d+), please$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number);
}

const WORDS = ["post", "horse", "road", "été", "stage", "naïve", "letter", "中文", "rider", "🐎"];

function makePrompt(number: number, random: Random, file: string): { prompt: Prompt; say: unknown[] } {
  const say: unknown[] = [];
  const answer: Run[] = [];
  const effects: string[] = [];
  const isAllowed = random.next() < 0.6;
  let [labels, pieces, isOver, asks] = [0, 0, false, false];

  const label = (): string => {
    labels += 1;
    return `${number}.${labels}`;
  };
  const tell = (run: Run): void => {
    if (isOver) return;
    pieces += run.kind === "call" ? 2 : 1;
    const last = answer.at(-1);
    if ((run.kind === "text" || run.kind === "thought") && last?.kind === run.kind)
      answer[answer.length - 1] = { kind: run.kind, text: last.text + run.text };
    else answer.push(run);
  };
  const wait = (most = 14): void => {
    if (random.next() < 0.7) say.push({ wait_ms: random.between(0, most) });
  };
  const speak = (kind: "thought" | "text", pieces: number): void => {
    for (let piece = 0; piece < pieces; piece += 1) {
      const words = Array.from({ length: random.between(1, 4) }, () => random.pick(WORDS)).join(" ");
      const text = `${label()} ${words} `;
      say.push(kind === "text" ? text : { think: text });
      tell({ kind, text });
      wait();
    }
  };
  const plan = (): void => {
    const states = ["pending", "in_progress", "completed"];
    const steps = Array.from({ length: random.between(1, 3) }, () => ({
      text: `${label()} step`,
      state: random.pick(states),
    }));
    say.push({ plan: steps });
    tell({ kind: "plan", entries: steps.map(({ text, state }) => `${text} (${state})`) });
  };
  const look = (): { piece: unknown; run: Run } => {
    const path = `/project/${label()}.txt`;
    const result = `read ${label()}`;
    const given = { path };
    return {
      piece: { tool: "read_file", arguments: given, result },
      run: { kind: "call", name: "read_file", given: JSON.stringify(given), result },
    };
  };
  const act = (): { piece: unknown; run: Run } => {
    const own = label();
    const given = { command: `note ${own}` };
    const pause = `sleep 0.0${random.between(0, 4)}`;
    if (!isOver) effects.push(own);
    const run = ["sh", "-c", `${pause}; echo ${own} >> '${file}'; echo noted ${own}`];
    return {
      piece: { tool: "terminal", arguments: given, run },
      run: { kind: "call", name: "terminal", given: JSON.stringify(given), result: `noted ${own}` },
    };
  };
  const together = (calls: readonly { piece: unknown; run: Run }[]): void => {
    const pieces = calls.map(({ piece }) => piece);
    say.push(pieces.length === 1 ? pieces[0] : { together: pieces });
    for (const { run } of calls) tell(run);
    wait();
  };
  const ask = (): void => {
    const denied = `${label()} not allowed`;
    asks = true;
    say.push({ approve: { title: `May I ${label()}?` }, denied });
    if (isAllowed) return;
    tell({ kind: "text", text: denied });
    isOver = true;
  };

  speak("thought", random.between(0, 3));
  speak("text", random.between(1, 4));
  if (random.next() < 0.6) plan();
  together([look()]);
  if (random.next() < 0.3) speak("thought", 2);
  if (random.next() < 0.4) speak("text", random.between(1, 3));
  together([act()]);
  if (random.next() < 0.3) ask();
  if (random.next() < 0.5) together(random.next() < 0.5 ? [look(), act()] : [act(), look()]);
  if (random.next() < 0.3) plan();
  speak("text", random.between(1, 5));
  if (random.next() < 0.2) {
    say.push({ message: true });
    speak("text", 2);
  }
  return {
    prompt: { number, text: promptText(number), answer, pieces, effects, isAllowed, asks },
    say,
  };
}
