import type { stateOf } from "../import/imported.ts";
import type { Findings } from "../kill/checker.ts";

type State = ReturnType<typeof stateOf>;

/** The differences between two databases, row by row. */
export function checkSame(wanted: State, found: State): Findings {
  const findings: Findings = { lost: [], doubled: [], broken: [] };
  for (const [table, rows] of Object.entries(wanted)) {
    const left = (found[table] ?? []).map((row) => JSON.stringify(row));
    const spare = new Map<string, number>();
    for (const row of left) spare.set(row, (spare.get(row) ?? 0) + 1);
    for (const row of rows.map((one) => JSON.stringify(one))) {
      const times = spare.get(row) ?? 0;
      if (times === 0) findings.lost.push(`${table}: ${row.slice(0, 300)}`);
      else spare.set(row, times - 1);
    }
    for (const [row, times] of spare) {
      if (times > 0) findings.doubled.push(`${table}: ${times} more of ${row.slice(0, 300)}`);
    }
    if (findings.lost.length + findings.doubled.length === 0 && JSON.stringify(rows) !== `[${left.join()}]`) {
      findings.broken.push(`${table}: the rows stand in another order`);
    }
  }
  return findings;
}
