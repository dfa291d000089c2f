import { cutToWidth, measureWidth, padToWidth } from "./width.ts";

export interface Column {
  readonly heading: string;
  readonly align?: "right";
  /** The smallest width when there is no room. By default the column is never cut. */
  readonly least?: number;
  /** Columns with the highest number are dropped first when there is no room. By default never. */
  readonly leaveOut?: number;
}

const GAP = 2;

/** Formats rows under headings. No line is wider than `width`; longer cells end in an ellipsis. */
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
    // A cell is at most as wide as the line, so the rest is not measured.
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
  // Shrinks the widest column first.
  while (total(({ room }) => room) > width) {
    const able = kept.filter((one) => one.room > least(one));
    if (able.length === 0) break;
    able.reduce((widest, one) => (one.room > widest.room ? one : widest)).room -= 1;
  }
  return kept;
}

/** Formats `name   value` lines. Absent values have no line. */
export function formatFacts(
  lines: readonly (readonly [name: string, value: string | undefined])[],
): string[] {
  const present = lines.filter((line): line is readonly [string, string] => line[1] !== undefined);
  const width = Math.max(0, ...present.map(([name]) => measureWidth(name)));
  return present.map(([name, value]) => `${padToWidth(name, width)}  ${value}`);
}
