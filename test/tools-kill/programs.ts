import type { Process } from "../../src/core/process.ts";
import { type Ask, type Sent, sentIn } from "./asks.ts";
import type { CommandStep, Errand } from "./errands.ts";
import type { Belongings, Evidence } from "./evidence.ts";
import { type Findings, wasKeeperKilled } from "./findings.ts";

import { findNeverStarted } from "./notices.ts";
import { counted } from "./traces.ts";

/** Compares the rows of processes with their errands, and with the notices of their end. */
export function checkPrograms(
  chat: string,
  errands: readonly Errand[],
  asks: readonly Ask[],
  { processes }: Belongings,
  evidence: Evidence,
  findings: Findings,
): void {
  const counts = counted(evidence.effects);
  const steps = new Map(
    errands.flatMap(({ steps }) =>
      steps.flatMap((step) => (step.kind === "command" ? [[step.command, step]] : [])),
    ),
  );
  const shown = sentIn(evidence.witnessed);
  const never = findNeverStarted(asks, processes);
  for (const process of processes) {
    const { id, command, status, begunAt } = process;
    const step = steps.get(command);
    if (step === undefined) {
      findings.broken.push(`${id}: nobody asked for ${command}`);
      continue;
    }
    if (status.state !== "ended") {
      findings.broken.push(`${id}: its row says that it is ${status.state}, when all is over`);
      continue;
    }
    if ("unknown" in status.exit) {
      // A process without a start is possible only if the keeper was killed between the row and the start.
      const isOnly = processes.filter((row) => row.command === command).length === 1;
      const hasRun = isOnly && (counts.get(step.lines[0] ?? "") ?? 0) > 0;
      const isUnseen = !hasRun && wasKeeperKilled(evidence.keeperKills, begunAt, status.at);
      if (!never.has(id) && !isUnseen)
        findings.broken.push(`${id}: ${command} ran, and its exit is not known`);
    } else if (!isExpected(step, status.exit))
      findings.broken.push(`${id}: ${command} ended with ${JSON.stringify(status.exit)}`);
    checkTold(chat, process, shown, never.has(id), findings);
  }
  for (const [command, { trace, lines }] of steps) {
    const rows = processes.filter((row) => row.command === command && !never.has(row.id)).length;
    if ((counts.get(lines[0] ?? "") ?? 0) > rows)
      findings.broken.push(`${trace}: it ran, and no row knows of it`);
  }
}

function isExpected({ exit, next }: CommandStep, ended: { code: number } | { signal: string }): boolean {
  if ("code" in ended && ended.code === exit) return true;
  return next === "kill" && ("signal" in ended || ended.code > 128);
}

/** Its end is reported once, in the chat that started it, and nowhere else. */
function checkTold(
  chat: string,
  { id, background, watch }: Process,
  shown: readonly Sent[],
  isNever: boolean,
  findings: Findings,
): void {
  const ends = shown.filter(({ text }) => new RegExp(`^\`[^\`]*\` \\(${id}\\) (was )?ended`).test(text));
  for (const one of ends)
    if (one.chat !== chat) findings.crossed.push(`the end of ${id} stands in ${one.chat}`);
  // A process that never started is reported with its turn.
  const due = background && watch.mode !== "off" && !isNever ? 1 : 0;
  if (ends.length > due) findings.doubled.push(`${chat}: the end of ${id} was told ${ends.length} times`);
  if (ends.length < due) findings.lost.push(`${chat}: the end of ${id} was not told`);
}
