import { type Random, seeded } from "../support/random.ts";

/** The name of the last started process in a script. */
export const LATEST = "latest";
/** Every command appends its trace to this file in its working folder. */
export const EFFECTS = "effects.txt";

/** One action of a turn. Its trace is unique. */
export type Step =
  | CommandStep
  /** A complete file that contains the trace. */
  | { readonly kind: "write"; readonly trace: string }
  /** Another line in the person's ledger. A repetition would add a second line. */
  | { readonly kind: "patch"; readonly trace: string }
  | { readonly kind: "memory"; readonly trace: string }
  /** These change nothing. */
  | { readonly kind: "read" | "search" | "list"; readonly trace: string };

export interface CommandStep {
  readonly kind: "command";
  readonly trace: string;
  /** The lines that it appends, in order. */
  readonly lines: readonly string[];
  readonly command: string;
  readonly exit: number;
  readonly background: boolean;
  readonly pty: boolean;
  /** The agent gets a message about its end, and answers. */
  readonly wakes: boolean;
  /** The next action of the agent with it. */
  readonly next?: "wait" | "kill";
  /** The person gets an approval request, and answers this. */
  readonly asked?: "yes" | "no";
}

/** The content of one request. */
export interface Errand {
  readonly person: string;
  /** `ann-7`; the text contains it in brackets, `[ann-7]` the first time and `[ann-7/2]` the second. */
  readonly name: string;
  readonly steps: readonly Step[];
}

/** The errands of one person, more than a run can need. */
export function errandsOf(person: string, count: number, seed: number): readonly Errand[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, index) => {
    const name = `${person}-${index + 1}`;
    // Sometimes an approval comes first: then nothing has run if the process crashes during it.
    const asks = random.next() < 0.3 ? [dangerous(`${name}.0`, random)] : [];
    const steps = Array.from({ length: random.between(2, 4) }, (_, at) =>
      stepOf(`${name}.${at + 1}`, random),
    );
    return { person, name, steps: [...asks, ...steps] };
  });
}

export function markOf({ name }: Pick<Errand, "name">, time = 1): string {
  return time === 1 ? `[${name}]` : `[${name}/${time}]`;
}

/** The errands that texts and answers name, with the mark itself. */
export function marksIn(text: string): { readonly name: string; readonly mark: string }[] {
  return [...text.matchAll(/\[([a-z]+-\d+)(?:\/\d+)?\]/g)].map(([mark, name = ""]) => ({ name, mark }));
}

/** The end of an answer that has done everything. */
export const DONE = "done ";
/** The agent's answer to the end of a process. */
export const WOKEN = "woken ";
/** A question whose answer shows that all earlier requests are settled. */
export const SETTLE = "settle";

/** The script of an agent that runs these errands. */
export function scriptOf(errands: readonly Errand[]): unknown {
  return {
    answers: [
      { to: "^\\[The background process", say: [WOKEN, { echo: true }] },
      { to: `^${SETTLE}`, say: ["settled ", { echo: true }] },
      ...errands.map((errand) => ({
        to: `\\[${errand.name}(/\\d+)?\\]`,
        say: ["I begin. ", ...piecesOf(errand), DONE, { echo: true }],
      })),
    ],
  };
}

function piecesOf({ steps, person }: Errand): unknown[] {
  const pieces: unknown[] = [];
  for (let at = 0; at < steps.length; at += 1) {
    const [step, next] = [steps[at], steps[at + 1]];
    if (step === undefined) continue;
    // Two calls in one message: a crash during the first leaves the second without a result, too.
    if (next !== undefined && isPlain(step) && isPlain(next)) {
      pieces.push({ together: [use(step, person), use(next, person)] });
      at += 1;
    } else pieces.push(use(step, person), ...afterwards(step), { wait_ms: 5 });
  }
  return pieces;
}

const isPlain = (step: Step): boolean => step.kind !== "command" || !step.background;

function use(step: Step, person: string): unknown {
  const { trace } = step;
  switch (step.kind) {
    case "command": {
      const { command, background, pty, wakes } = step;
      const watch = wakes ? { notify: "off", notify_on_complete: true } : { notify: "result" };
      const more = background ? { background, ...watch } : {};
      return { use: "terminal", arguments: { command, ...(pty && { pty }), ...more } };
    }
    case "write":
      return { use: "write_file", arguments: { path: fileOf(trace), content: `${trace}\n` } };
    case "patch": {
      const given = { path: ledgerOf(person), old: "END", new: `${trace}\nEND` };
      return { use: "patch", arguments: given };
    }
    case "memory":
      return { use: "memory", arguments: { action: "add", text: trace } };
    case "read":
      return { use: "read_file", arguments: { path: ledgerOf(person) } };
    case "search":
      return { use: "session_search", arguments: { query: `begin OR done OR ${trace}` } };
    case "list":
      return { use: "process", arguments: { action: "list" } };
  }
}

function afterwards(step: Step): unknown[] {
  if (step.kind !== "command" || step.next === undefined) return [];
  const given = { action: step.next, session_id: LATEST, ...(step.next === "wait" && { timeout: 5 }) };
  return [{ use: "process", arguments: given }];
}

export function ledgerOf(person: string): string {
  return `ledger-${person}.txt`;
}

export function fileOf(trace: string): string {
  return `files/${trace}.txt`;
}

function stepOf(trace: string, random: Random): Step {
  const chance = random.next();
  if (chance < 0.16) return command(trace, { exit: random.next() < 0.2 ? 3 : 0 });
  if (chance < 0.34) return command(trace, { sleep: random.between(10, 25) / 100 });
  if (chance < 0.46) return inBackground(trace, { next: "wait", exit: random.between(0, 9) }, random);
  if (chance < 0.54) return inBackground(trace, { exit: random.between(0, 9) }, random);
  if (chance < 0.6) return inBackground(trace, { next: "kill", sleep: 2 }, random);
  if (chance < 0.65) return inBackground(trace, { wakes: true, exit: random.between(0, 9) }, random);
  if (chance < 0.72) return { kind: "write", trace };
  if (chance < 0.81) return { kind: "patch", trace };
  if (chance < 0.88) return { kind: "memory", trace };
  if (chance < 0.94) return dangerous(trace, random);
  return { kind: random.pick(["read", "search", "list"]), trace };
}

function inBackground(trace: string, more: Partial<Shaped>, random: Random): CommandStep {
  const sleep = random.between(10, 40) / 100;
  return command(trace, { background: true, sleep, pty: random.next() < 0.2, ...more });
}

interface Shaped extends Pick<CommandStep, "exit" | "background" | "pty" | "wakes"> {
  readonly sleep: number;
  readonly next: NonNullable<CommandStep["next"]>;
}

function command(trace: string, { sleep, exit = 0, ...more }: Partial<Shaped>): CommandStep {
  const lines = sleep === undefined ? [trace] : [`${trace}a`, `${trace}b`];
  const [first, ...rest] = lines.map((line) => `echo ${line} >> ${EFFECTS}`);
  const words = [first, ...rest.flatMap((line) => [`sleep ${sleep}`, line])];
  if (exit !== 0) words.push(`exit ${exit}`);
  const usual = { background: false, pty: false, wakes: false };
  return { kind: "command", trace, lines, command: words.join("; "), exit, ...usual, ...more };
}

function dangerous(trace: string, random: Random): CommandStep {
  const plain = command(trace, {});
  const asked = random.next() < 0.8 ? "yes" : "no";
  return { ...plain, command: `rm -rf scratch/${trace}; ${plain.command}`, asked };
}
