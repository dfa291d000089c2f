import { cutToWidth, measureWidth, padToWidth } from "./width.ts";

export interface Column {
  readonly heading: string;
  readonly align?: "right";
  /** May be cut down to this many columns when there is no room. Not at all unless said. */
  readonly least?: number;
  /** Left out when there is still no room: the highest number first. Never unless said. */
  readonly leaveOut?: number;
}

const GAP = 2;

/** Rows under headings, no line wider than `width`. What does not fit is cut with an ellipsis. */
export function formatTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  heading: (line: string) => string = (line) => line,
): string[] {
  const kept = fitColumns(columns, rows, width);
  const line = (cells: readonly string[]): string => {
    const shown = kept.map(({ index, room, column }, at) => {
      const cell = cutToWidth(cells[index] ?? "", room);
      if (column.align === "right") return " ".repeat(Math.max(0, room - measureWidth(cell))) + cell;
      return at === kept.length - 1 ? cell : padToWidth(cell, room);
    });
    return cutToWidth(shown.join(" ".repeat(GAP)).trimEnd(), width);
  };
  return [heading(line(columns.map((column) => column.heading))), ...rows.map(line)];
}

interface FittedColumn {
  readonly column: Column;
  readonly index: number;
  room: number;
}

function fitColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly FittedColumn[] {
  let kept: FittedColumn[] = columns.map((column, index) => ({
    column,
    index,
    // No cell gets more room than the whole line has, so no more of it is measured.
    room: rows.reduce(
      (room, row) => Math.max(room, measureWidth(cutToWidth(row[index] ?? "", width))),
      measureWidth(column.heading),
    ),
  }));
  const total = (roomOf: (one: FittedColumn) => number): number =>
    kept.reduce((sum, one) => sum + roomOf(one), GAP * (kept.length - 1));
  const least = ({ column, room }: FittedColumn): number => Math.min(room, column.least ?? room);
  while (total(least) > width) {
    const rank = ({ column }: FittedColumn): number => column.leaveOut ?? 0;
    const out = kept.reduce((worst, one) => (rank(one) > rank(worst) ? one : worst));
    if (rank(out) === 0) break;
    kept = kept.filter((one) => one !== out);
  }
  // The widest gives first, so that no column is cut while another is long.
  while (total(({ room }) => room) > width) {
    const able = kept.filter((one) => one.room > least(one));
    if (able.length === 0) break;
    able.reduce((widest, one) => (one.room > widest.room ? one : widest)).room -= 1;
  }
  return kept;
}

/** `name   value`, one under the other; absent values leave their line out. */
export function formatFacts(
  lines: readonly (readonly [name: string, value: string | undefined])[],
): string[] {
  const present = lines.filter((line): line is readonly [string, string] => line[1] !== undefined);
  const width = Math.max(0, ...present.map(([name]) => measureWidth(name)));
  return present.map(([name, value]) => `${padToWidth(name, width)}  ${value}`);
}
