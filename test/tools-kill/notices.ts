import type { Process } from "../../src/core/process.ts";
import { formatCommand } from "../../src/core/process-report.ts";
import type { Ask } from "./asks.ts";
import type { CommandStep, Errand } from "./errands.ts";
import type { Belongings, Evidence } from "./evidence.ts";
import type { Findings } from "./findings.ts";
import { counted } from "./traces.ts";

const BECAME =
  /`([^`]+)` (?:ended with code (\d+)|was ended by (\w+)|ended with (an unknown code)|still runs \((proc_[0-9a-f]{12})\)|(never started))\./g;

/** A notice that an action may have happened contains the state of the commands, and the state is correct. */
export function checkNotices(
  asks: readonly Ask[],
  errands: readonly Errand[],
  { processes }: Belongings,
  evidence: Evidence,
  findings: Findings,
): void {
  const counts = counted(evidence.effects);
  for (const { name, at, notice } of asks) {
    if (name === undefined || notice === undefined) continue;
    const commands = errands
      .filter((errand) => errand.name === name)
      .flatMap(({ steps }) => steps.filter((step): step is CommandStep => step.kind === "command"));
    const said = [...notice.text.matchAll(BECAME)];
    for (const [, command, code, , , running] of said) {
      const step = commands.find((one) => formatCommand(one.command) === `\`${command}\``);
      if (step === undefined) findings.broken.push(`${name}: told of ${command}, which is not its own`);
      else if (code !== undefined) {
        if (Number(code) !== step.exit)
          findings.broken.push(`${step.trace}: told that it ended with ${code}`);
        const missing = step.lines.filter((line) => !counts.has(line));
        if (missing.length > 0) findings.lost.push(`${step.trace}: told that it has ended, without a trace`);
      } else if (running !== undefined && !processes.some(({ id }) => id === running))
        findings.broken.push(`${step.trace}: told that ${running} still runs, which never did`);
    }
    const begun = processes.filter(({ begunAt }) => begunAt >= at && begunAt <= notice.at);
    for (const { command, id } of begun)
      if (!said.some(([, told]) => `\`${told}\`` === formatCommand(command)))
        findings.lost.push(`${name}: its person was not told what became of ${id}, ${command}`);
  }
}

/** The ids of processes that a notice reports as never started. */
export function findNeverStarted(asks: readonly Ask[], processes: readonly Process[]): ReadonlySet<string> {
  const found = asks.flatMap(({ at, notice }) => {
    if (notice === undefined) return [];
    const said = [...notice.text.matchAll(BECAME)].filter(([, , , , , , never]) => never !== undefined);
    return processes.filter(
      ({ command, begunAt }) =>
        begunAt >= at &&
        begunAt <= notice.at &&
        said.some(([, told]) => `\`${told}\`` === formatCommand(command)),
    );
  });
  return new Set(found.map(({ id }) => id));
}
