import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../support/program.ts";
import { type Random, seeded } from "../support/random.ts";
import { makeConversation, type Prompt } from "./conversation.ts";
import { type Desk, desk, type Sitting } from "./desk.ts";
import { type Findings, hold, type Witness } from "./judge.ts";
import { checkEffects, checkStored, effectsIn } from "./stored.ts";
import type { Update } from "./wire.ts";

export interface EditorKillPlan {
  /** Empty. */
  readonly folder: string;
  readonly seed: number;
  readonly kills: number;
  /** The number of prompts. */
  readonly turns: number;
  /** The share of rounds with a second editor in the same session. */
  readonly together?: number;
  readonly progress?: (text: string) => void;
}

export interface EditorKillReport extends Findings {
  readonly kills: number;
  /** Kills during an answer, as marked in the session. */
  readonly inFlight: number;
  readonly prompts: number;
  readonly answered: number;
  readonly effects: number;
  /** How sessions continued in a new process, and the targets of the kills. */
  readonly rounds: Readonly<Record<string, number>>;
  readonly errors: string[];
  /** For tests of the judge. */
  readonly last: readonly Update[];
  readonly witness: Witness;
}

/** How a session continues in a new process: load, resume, both, or only a prompt. */
const OPENINGS = ["load", "resume, then load", "resume", "prompt"] as const;

/**
 * An editor uses `postrider acp`, which is killed repeatedly: during an answer, right after a prompt,
 * during an approval, during a replay. Interrupted prompts are sent again until all are
 * answered. The seed determines the prompts and the targets of the kills, but not the exact instruction.
 */
export async function driveEditorKills(plan: EditorKillPlan): Promise<EditorKillReport> {
  const { folder, seed, kills, turns, together = 0 } = plan;
  const random = seeded(seed);
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(cwd);
  const conversation = makeConversation(folder, seed + 1, turns + kills * 2);
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  const errors: string[] = [];
  const at = desk({ conversation, home, cwd, findings, errors });
  const rounds: Record<string, number> = {};
  const count = (what: string): void => {
    rounds[what] = (rounds[what] ?? 0) + 1;
  };
  const doomed: number[] = [];

  const first = at.sit();
  await first.initialize();
  const session = (await first.create()) ?? "";
  await first.say(session, at.next());
  doomed.push(at.next().number);
  await killedOver(first, session, at.next(), { at: "piece", share: random.next() }, random);
  await first.killed();

  for (let killed = 1; killed < kills; killed += 1) {
    plan.progress?.(`${killed} of ${kills} kills, ${at.answered.size} of ${turns} prompts answered`);
    const aim = aimAt(random);
    if (aim.at !== "start" && aim.at !== "load" && random.next() < together) {
      count("two editors");
      doomed.push(await twoEditors(at, session, aim, random));
      continue;
    }
    const sitting = at.sit();
    count(`killed: ${aim.at}`);
    if (aim.at === "start") killAfter(sitting, aim.ms);
    await sitting.initialize();
    await sitting.list(session);
    const how = aim.at === "load" ? "load" : random.pick(OPENINGS);
    count(how);
    if (aim.at === "load") killAtPiece(sitting, aim.pieces);
    if (how.startsWith("resume")) await sitting.resume(session);
    if (how.endsWith("load")) await sitting.load(session);
    if (aim.at !== "start" && aim.at !== "load") {
      // Some answers finish before the process is killed during the next one.
      if (at.answered.size < turns - 1 && random.next() < 0.6) await sitting.say(session, at.next());
      const prompt = at.next();
      doomed.push(prompt.number);
      await killedOver(sitting, session, prompt, aim, random);
    }
    await sitting.killed();
  }

  const last = at.sit();
  await last.initialize();
  await last.load(session);
  for (let left = turns - at.answered.size; left > 0; left -= 1) await last.say(session, at.next());
  const replay = (await last.load(session)) ?? [];
  await last.closed();
  const { out } = await runProgram(home, "sessions", "show", session, "--json");
  checkStored(out, replay, findings);
  checkEffects(conversation, replay, findings);
  checkLog(home, errors);
  const witness = at.witness();
  const { stopped } = hold(replay, witness);
  return {
    ...findings,
    kills,
    inFlight: doomed.filter((number) => stopped.has(number)).length,
    prompts: witness.typed.size,
    answered: at.answered.size,
    effects: effectsIn(conversation.effects).length,
    rounds,
    errors,
    last: replay,
    witness,
  };
}

/** The target of a kill. */
type Aim =
  | { readonly at: "start"; readonly ms: number }
  | { readonly at: "load"; readonly pieces: number }
  | AimAtAnswer;

type AimAtAnswer =
  | { readonly at: "prompt" }
  | { readonly at: "question" }
  | { readonly at: "delay"; readonly ms: number }
  | { readonly at: "piece"; readonly share: number };

function aimAt(random: Random): Aim {
  const chance = random.next();
  if (chance < 0.03) return { at: "start", ms: random.between(50, 600) };
  if (chance < 0.08) return { at: "load", pieces: random.between(1, 60) };
  if (chance < 0.13) return { at: "prompt" };
  if (chance < 0.25) return { at: "delay", ms: random.between(1, 120) };
  if (chance < 0.37) return { at: "question" };
  return { at: "piece", share: random.next() };
}

/** Sends the prompt and kills the process at the target. */
async function killedOver(
  sitting: Sitting,
  session: string,
  prompt: Prompt,
  aim: AimAtAnswer,
  random: Random,
): Promise<void> {
  // Without an approval, during the answer.
  if (aim.at === "question" && prompt.asks) sitting.onQuestion(sitting.kill);
  else if (aim.at === "question") killAfter(sitting, random.between(20, 80));
  if (aim.at === "piece") killAtPiece(sitting, 1 + Math.floor(aim.share * prompt.pieces));
  const said = sitting.say(session, prompt);
  if (aim.at === "delay") killAfter(sitting, aim.ms);
  if (aim.at === "prompt") setImmediate(sitting.kill);
  await said;
}

/** Two windows on one session: one is killed during its prompt, the other gets its answer and shows everything. */
async function twoEditors(at: Desk, session: string, aim: AimAtAnswer, random: Random): Promise<number> {
  const [victim, other] = [at.sit(), at.sit()];
  await Promise.all([victim.initialize(), other.initialize()]);
  await victim.load(session);
  const isEarly = random.next() < 0.5;
  if (isEarly) await other.load(session);
  const prompt = at.next();
  const dying = killedOver(victim, session, prompt, aim, random);
  // Opened during the answer of the other window.
  if (!isEarly) await other.load(session, true);
  await other.say(session, at.next());
  await dying;
  await victim.killed();
  await other.catchUp(session);
  await other.load(session);
  await other.closed();
  return prompt.number;
}

function killAfter(sitting: Sitting, ms: number): void {
  setTimeout(sitting.kill, ms).unref(); // the process may have ended already
}

function killAtPiece(sitting: Sitting, pieces: number): void {
  const before = sitting.pieces();
  sitting.onCome(() => {
    if (sitting.pieces() >= before + pieces) sitting.kill();
  });
}

/** The log has no unexpected error. */
function checkLog(home: string, errors: string[]): void {
  const file = join(home, "logs", "editor.log");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  for (const line of lines) {
    const { level } = JSON.parse(line) as { readonly level?: string };
    if (level === "error") errors.push(`logged: ${line}`);
  }
}
