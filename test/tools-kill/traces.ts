import { getText, type Message, type ToolCall } from "../../src/core/message.ts";
import { NO_RESULT } from "../../src/core/projection.ts";
import type { Ask } from "./asks.ts";
import type { CommandStep, Errand, Step } from "./errands.ts";
import type { Belongings, Evidence } from "./evidence.ts";
import { type Findings, wasKeeperKilled } from "./findings.ts";

/** Compares outside effects with the requests, the answers, and their claims. */
export function checkTraces(
  errands: readonly Errand[],
  asks: readonly Ask[],
  own: Belongings,
  evidence: Evidence,
  findings: Findings,
): void {
  const { keeperKills, files } = evidence;
  const counts = counted(evidence.effects);
  const ledger = counted(own.ledger);
  const results = resultsIn(own.history);
  for (const errand of errands) {
    const asked = asks.filter(({ name }) => name === errand.name);
    const answered = asked.filter(({ answer }) => answer !== undefined);
    const times = { asked: asked.length, answered: answered.length };
    // From its first request until its answer.
    const [from, to] = [asked[0]?.at ?? 0, Math.max(0, ...asked.map(({ answer }) => answer?.at ?? 0))];
    const isSeen = !wasKeeperKilled(keeperKills, from, to);
    for (const step of errand.steps) {
      if (step.kind === "command") checkCommand(step, counts, { ...times, isSeen }, findings);
      else checkFile(step, { ledger, memory: counted(own.memory), files }, times, findings);
    }
  }
  for (const step of errands.flatMap(({ steps }) => steps)) {
    if (step.kind !== "command" || step.background) continue;
    const own = results.filter(({ call }) => commandOf(call) === step.command);
    const good = own.filter(({ isGood }) => isGood).length;
    const least = Math.min(...step.lines.map((line) => counts.get(line) ?? 0));
    if (good > least)
      findings.lost.push(`${step.trace}: ${good} results say that it was done, ${least} traces`);
    for (const { isFailed, from, to } of own)
      if (isFailed && step.exit === 0 && step.asked !== "no" && !wasKeeperKilled(keeperKills, from, to))
        findings.broken.push(`${step.trace}: it failed, and nothing stood in its way`);
  }
}

interface Times {
  readonly asked: number;
  readonly answered: number;
}

function checkCommand(
  step: CommandStep,
  counts: ReadonlyMap<string, number>,
  { asked, answered, isSeen }: Times & { readonly isSeen: boolean },
  findings: Findings,
): void {
  const [first = 0, second = first] = step.lines.map((line) => counts.get(line) ?? 0);
  const { trace } = step;
  if (Math.max(first, second) > asked)
    findings.doubled.push(`${trace}: asked for ${asked} times, done ${first} and ${second} times`);
  if (step.asked === "no" && first > 0) findings.broken.push(`${trace}: done although the person said no`);
  // A process outlives its turn, and its keeper unless it uses a terminal of that keeper.
  const mayEnd = step.next === "kill" || step.pty;
  if (second > first || (second < first && !mayEnd))
    findings.lost.push(`${trace}: begun ${first} times, ended ${second} times`);
  const due = step.asked === "no" || !isSeen ? 0 : answered;
  if (first < due || (second < due && !mayEnd))
    findings.lost.push(`${trace}: answered ${answered} times, done ${first} and ${second} times`);
}

interface Places {
  readonly ledger: ReadonlyMap<string, number>;
  readonly memory: ReadonlyMap<string, number>;
  readonly files: Evidence["files"];
}

function checkFile(
  { kind, trace }: Exclude<Step, CommandStep>,
  { ledger, memory, files }: Places,
  { asked, answered }: Times,
  findings: Findings,
): void {
  const complain = (list: "lost" | "doubled", count: number): void =>
    void findings[list].push(`${trace}: ${kind}: asked ${asked}, answered ${answered}, there ${count} times`);
  if (kind === "patch") {
    const count = ledger.get(trace) ?? 0;
    if (count > asked) complain("doubled", count);
    if (count < answered) complain("lost", count);
  } else if (kind === "memory") {
    const count = memory.get(trace) ?? 0;
    if (count > Math.min(asked, 1)) complain("doubled", count);
    if (count < Math.min(answered, 1)) complain("lost", count);
  } else if (kind === "write") {
    const held = files[trace];
    if (held === undefined && answered > 0) complain("lost", 0);
    if (held !== undefined && held !== trace) findings.broken.push(`${trace}: the file holds ${held}`);
    if (held !== undefined && asked === 0) complain("doubled", 1);
  }
}

interface Result {
  readonly call: ToolCall;
  readonly from: number;
  readonly to: number;
  readonly isGood: boolean;
  readonly isFailed: boolean;
}

function resultsIn(history: readonly Message[]): Result[] {
  const results = new Map(
    history.flatMap((one) => (one.toolCallId === undefined ? [] : [[one.toolCallId, one]])),
  );
  return history.flatMap(({ toolCalls = [], at }) =>
    toolCalls.flatMap((call) => {
      const result = results.get(call.id);
      if (result === undefined || getText(result) === NO_RESULT) return [];
      const isFailed = result.finishReason === "error";
      return [{ call, from: at, to: result.at, isFailed, isGood: !isFailed }];
    }),
  );
}

function commandOf({ name, arguments: given }: ToolCall): string | undefined {
  return name === "terminal" ? (given as { readonly command?: string }).command : undefined;
}

export function counted(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
