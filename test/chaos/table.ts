/** The work and the findings of one part. */
export interface Row {
  readonly part: string;
  readonly operations: number;
  readonly kills: number;
  readonly inFlight: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly errors: readonly string[];
  /** Information, not a failure. */
  readonly notes: readonly string[];
}

export function isGood({ lost, doubled, errors }: Row): boolean {
  return lost.length + doubled.length + errors.length === 0;
}

const SHOWN = 10;

export function tableOf(rows: readonly Row[]): string[] {
  const heads = ["", "operations", "kills", "in flight", "lost", "doubled", "errors"];
  const cells = rows.map(({ part, operations, kills, inFlight, lost, doubled, errors }) => [
    part,
    ...[operations, kills, inFlight, lost.length, doubled.length, errors.length].map(String),
  ]);
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...cells.map((line) => line[at]?.length ?? 0)),
  );
  return [heads, ...cells].map((line) =>
    line
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  "),
  );
}

/** The failures, one per line. */
export function findingsOf({ lost, doubled, errors }: Row): string[] {
  return Object.entries({ lost, doubled, errors }).flatMap(([what, list]) => {
    const lines = list.slice(0, SHOWN).map((one) => `${what}: ${one}`);
    if (list.length > SHOWN) lines.push(`${what}: and ${list.length - SHOWN} more`);
    return lines;
  });
}
