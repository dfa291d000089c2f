import { type Cell, type Columns, decode, type TreePage, treePage } from "./cells.ts";
import type { Pages } from "./pages.ts";
import { fitting, type Known, knownTables, type Table } from "./tables.ts";

export interface Row extends Columns {
  readonly table: Table;
  readonly rowid?: number;
}

export interface Gathered {
  /** Pages that hold something, but nothing that can be read. */
  readonly unreadable: readonly number[];
  /** Pages whose way from the top was lost, and that were recognised by what stands on them. */
  readonly strays: number;
  /** Entries of readable pages that make no sense. */
  readonly broken: number;
  /** The highest numbers that were ever given out, by table. */
  readonly sequences: ReadonlyMap<string, number>;
}

/** Of all that may lie about, only these cannot be taken for something else. */
const UNMISTAKABLE: ReadonlySet<string> = new Set(["blobs", "views", "pieces"]);

/**
 * Everything that can be read, given to `onRow`: first what the trees lead to, then pages to which no way leads any
 * more. Pages that were freed hold nothing, since whatever is removed is overwritten.
 */
export function gather(pages: Pages, onRow: (row: Row) => void): Gathered {
  const known = knownTables();
  const seen = new Set<number>();
  const overflow = new Set<number>();
  const sequences = new Map<string, number>();
  let broken = 0;
  let strays = 0;

  const take = (shapes: readonly Table[] | undefined, cell: Cell): void => {
    for (const page of cell.overflow) overflow.add(page);
    if (shapes === undefined) return;
    const record = decode(cell);
    const table = record && fitting(shapes, record);
    if (record === undefined || table === undefined) broken += 1;
    else onRow({ ...record, table, ...(cell.rowid !== undefined && { rowid: cell.rowid }) });
  };

  const walk = (root: number, kind: TreePage["kind"], use: (cell: Cell) => void): void => {
    const waiting = [root];
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      if (page < 1 || page > pages.count || seen.has(page)) continue;
      const found = treePage(pages, page);
      if (found === undefined || found.kind !== kind) continue;
      seen.add(page);
      broken += found.broken;
      for (const cell of found.cells) use(cell);
      waiting.push(...found.children.toReversed());
    }
  };

  for (const { name, root, kind } of treesOf(pages, known, walk)) {
    const shapes = known.tables.get(name);
    if (name === "sqlite_sequence") walk(root, kind, (cell) => sequence(decode(cell), sequences));
    else walk(root, kind, (cell) => take(shapes, cell));
  }

  for (let page = 1; page <= pages.count; page += 1) {
    if (seen.has(page)) continue;
    const found = treePage(pages, page);
    if (found === undefined || found.cells.length === 0) continue;
    const shapes = tableOf(found, known);
    if (shapes !== undefined) strays += 1;
    if (shapes !== undefined || found.broken === 0) seen.add(page);
    for (const cell of found.cells) take(shapes, cell);
    if (shapes !== undefined) broken += found.broken;
  }
  return { unreadable: unreadablePages(pages, seen, overflow), strays, broken, sequences };
}

interface Tree {
  readonly name: string;
  readonly root: number;
  readonly kind: TreePage["kind"];
}

/** Where each tree begins: as the file says, else where Postrider's files have it. Tables come before indexes. */
function treesOf(
  pages: Pages,
  { tables, layouts }: Known,
  walk: (root: number, kind: "table", use: (cell: Cell) => void) => void,
): Tree[] {
  const written = new Map<string, { root: number; kind: Tree["kind"] }>();
  if (pages.hasHeader) {
    walk(1, "table", (cell) => {
      const [type, name, , root, sql] = decode(cell)?.values ?? [];
      if (typeof name !== "string" || typeof root !== "number" || root < 2) return;
      const isKeyed = type === "index" || /without\s+rowid\s*$/i.test(String(sql ?? ""));
      written.set(name, { root, kind: isKeyed ? "index" : "table" });
    });
  }
  for (const [name, root] of layouts.find((layout) => agrees(pages, tables, layout, written)) ?? []) {
    if (written.has(name)) continue;
    const kind = treePage(pages, root)?.kind;
    if (kind !== undefined) written.set(name, { root, kind: tables.get(name)?.[0]?.kind ?? kind });
  }
  return [...written]
    .map(([name, tree]) => ({ name, ...tree }))
    .toSorted((a, b) => Number(tables.has(b.name)) - Number(tables.has(a.name)));
}

/** Whether every tree that can be looked at begins where the layout says, with rows of the right form. */
function agrees(
  pages: Pages,
  tables: Known["tables"],
  layout: ReadonlyMap<string, number>,
  written: ReadonlyMap<string, { readonly root: number }>,
): boolean {
  return [...layout].every(([name, root]) => {
    const known = written.get(name);
    if (known !== undefined) return known.root === root;
    const [shapes, page] = [tables.get(name), treePage(pages, root)];
    if (shapes === undefined || page === undefined) return true;
    return page.kind === shapes[0]?.kind && page.cells.every((cell) => isRowOf(shapes, cell));
  });
}

function isRowOf(shapes: readonly Table[], cell: Cell): boolean {
  const record = decode(cell);
  return record === undefined || fitting(shapes, record) !== undefined;
}

function sequence(record: Columns | undefined, sequences: Map<string, number>): void {
  const [name, number] = record?.values ?? [];
  if (typeof name === "string" && typeof number === "number") sequences.set(name, number);
}

/** The one table that all readable rows of a page fit. */
function tableOf(page: TreePage, { tables }: Known): readonly Table[] | undefined {
  const records = page.cells.flatMap((cell) => decode(cell) ?? []);
  if (records.length === 0) return undefined;
  const possible = [...tables].filter(
    ([name, shapes]) =>
      shapes[0]?.kind === page.kind &&
      (page.kind === "table" || UNMISTAKABLE.has(name)) &&
      records.every((record) => fitting(shapes, record) !== undefined),
  );
  return possible.length === 1 ? possible[0]?.[1] : undefined;
}

function unreadablePages(pages: Pages, seen: ReadonlySet<number>, overflow: ReadonlySet<number>): number[] {
  const unreadable: number[] = [];
  const free = freePages(pages);
  for (let page = 1; page <= pages.count; page += 1) {
    if (seen.has(page) || overflow.has(page) || free.has(page)) continue;
    if (pages.read(page)?.some((byte) => byte !== 0) ?? true) unreadable.push(page);
  }
  return unreadable;
}

/** The list of free pages is itself a few pages with numbers on them. */
function freePages(pages: Pages): Set<number> {
  const free = new Set<number>();
  const header = pages.hasHeader ? pages.read(1) : undefined;
  let page = header?.readUInt32BE(32) ?? 0;
  while (page > 1 && page <= pages.count && !free.has(page)) {
    free.add(page);
    page = pages.read(page)?.readUInt32BE(0) ?? 0;
  }
  return free;
}
