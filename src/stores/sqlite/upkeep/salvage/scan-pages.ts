import { type BtreeCell, type DecodedRow, decodeRow, readTreePage, type TreePage } from "./cells.ts";
import type { Pages } from "./pages.ts";
import { findMatchingTable, type KnownSchema, readKnownSchema, type SalvageTable } from "./tables.ts";

export interface SalvagedRow extends DecodedRow {
  readonly table: SalvageTable;
  readonly rowid?: number;
}

export interface PageScan {
  /** Pages with content that is not readable. */
  readonly unreadable: readonly number[];
  /** Pages that no tree leads to, and that were recognized by their content. */
  readonly strays: number;
  /** Invalid entries of readable pages. */
  readonly broken: number;
  /** The highest numbers that were ever used, by table. */
  readonly sequences: ReadonlyMap<string, number>;
}

/** Of all index-organized tables, only these cannot be confused with another. */
const DISTINCT_TABLES: ReadonlySet<string> = new Set(["blobs", "views", "pieces"]);

/**
 * Passes every readable row to `onRow`: first the rows of the trees, then those of pages that no tree leads to. Free
 * pages contain nothing, since deleted content is overwritten.
 */
export function scanPages(pages: Pages, onRow: (row: SalvagedRow) => void): PageScan {
  const known = readKnownSchema();
  const seen = new Set<number>();
  const overflow = new Set<number>();
  const sequences = new Map<string, number>();
  let broken = 0;
  let strays = 0;

  const handleCell = (versions: readonly SalvageTable[] | undefined, cell: BtreeCell): void => {
    for (const page of cell.overflow) overflow.add(page);
    if (versions === undefined) return;
    const record = decodeRow(cell);
    const table = record && findMatchingTable(versions, record);
    if (record === undefined || table === undefined) broken += 1;
    else onRow({ ...record, table, ...(cell.rowid !== undefined && { rowid: cell.rowid }) });
  };

  const walk = (root: number, kind: TreePage["kind"], use: (cell: BtreeCell) => void): void => {
    const pending = [root];
    for (let page = pending.pop(); page !== undefined; page = pending.pop()) {
      if (page < 1 || page > pages.count || seen.has(page)) continue;
      const found = readTreePage(pages, page);
      if (found === undefined || found.kind !== kind) continue;
      seen.add(page);
      broken += found.broken;
      for (const cell of found.cells) use(cell);
      pending.push(...found.children.toReversed());
    }
  };

  for (const { name, root, kind } of findTrees(pages, known, walk)) {
    const versions = known.tables.get(name);
    if (name === "sqlite_sequence") walk(root, kind, (cell) => recordSequence(decodeRow(cell), sequences));
    else walk(root, kind, (cell) => handleCell(versions, cell));
  }

  for (let page = 1; page <= pages.count; page += 1) {
    if (seen.has(page)) continue;
    const found = readTreePage(pages, page);
    if (found === undefined || found.cells.length === 0) continue;
    const versions = identifyTable(found, known);
    if (versions !== undefined) strays += 1;
    if (versions !== undefined || found.broken === 0) seen.add(page);
    for (const cell of found.cells) handleCell(versions, cell);
    if (versions !== undefined) broken += found.broken;
  }
  return { unreadable: listUnreadablePages(pages, seen, overflow), strays, broken, sequences };
}

interface Tree {
  readonly name: string;
  readonly root: number;
  readonly kind: TreePage["kind"];
}

/**
 * The root of each tree: from the file, or else from the usual layout of Postrider's files. Tables come before indexes.
 */
function findTrees(
  pages: Pages,
  { tables, layouts }: KnownSchema,
  walk: (root: number, kind: "table", use: (cell: BtreeCell) => void) => void,
): Tree[] {
  const roots = new Map<string, { root: number; kind: Tree["kind"] }>();
  if (pages.hasHeader) {
    walk(1, "table", (cell) => {
      const [type, name, , root, sql] = decodeRow(cell)?.values ?? [];
      if (typeof name !== "string" || typeof root !== "number" || root < 2) return;
      const isKeyed = type === "index" || /without\s+rowid\s*$/i.test(String(sql ?? ""));
      roots.set(name, { root, kind: isKeyed ? "index" : "table" });
    });
  }
  for (const [name, root] of layouts.find((layout) => isMatchingLayout(pages, tables, layout, roots)) ?? []) {
    if (roots.has(name)) continue;
    const kind = readTreePage(pages, root)?.kind;
    if (kind !== undefined) roots.set(name, { root, kind: tables.get(name)?.[0]?.kind ?? kind });
  }
  return [...roots]
    .map(([name, tree]) => ({ name, ...tree }))
    .toSorted((a, b) => Number(tables.has(b.name)) - Number(tables.has(a.name)));
}

/** Whether every readable tree starts where the layout says, with rows of the right form. */
function isMatchingLayout(
  pages: Pages,
  tables: KnownSchema["tables"],
  layout: ReadonlyMap<string, number>,
  roots: ReadonlyMap<string, { readonly root: number }>,
): boolean {
  return [...layout].every(([name, root]) => {
    const known = roots.get(name);
    if (known !== undefined) return known.root === root;
    const [versions, page] = [tables.get(name), readTreePage(pages, root)];
    if (versions === undefined || page === undefined) return true;
    return page.kind === versions[0]?.kind && page.cells.every((cell) => isRowOf(versions, cell));
  });
}

function isRowOf(versions: readonly SalvageTable[], cell: BtreeCell): boolean {
  const record = decodeRow(cell);
  return record === undefined || findMatchingTable(versions, record) !== undefined;
}

function recordSequence(record: DecodedRow | undefined, sequences: Map<string, number>): void {
  const [name, number] = record?.values ?? [];
  if (typeof name === "string" && typeof number === "number") sequences.set(name, number);
}

/** The only table that all readable rows of a page match. */
function identifyTable(page: TreePage, { tables }: KnownSchema): readonly SalvageTable[] | undefined {
  const records = page.cells.flatMap((cell) => decodeRow(cell) ?? []);
  if (records.length === 0) return undefined;
  const possible = [...tables].filter(
    ([name, versions]) =>
      versions[0]?.kind === page.kind &&
      (page.kind === "table" || DISTINCT_TABLES.has(name)) &&
      records.every((record) => findMatchingTable(versions, record) !== undefined),
  );
  return possible.length === 1 ? possible[0]?.[1] : undefined;
}

function listUnreadablePages(
  pages: Pages,
  seen: ReadonlySet<number>,
  overflow: ReadonlySet<number>,
): number[] {
  const unreadable: number[] = [];
  const free = listFreePages(pages);
  for (let page = 1; page <= pages.count; page += 1) {
    if (seen.has(page) || overflow.has(page) || free.has(page)) continue;
    if (pages.read(page)?.some((byte) => byte !== 0) ?? true) unreadable.push(page);
  }
  return unreadable;
}

/** The list of free pages is itself stored in pages with numbers. */
function listFreePages(pages: Pages): Set<number> {
  const free = new Set<number>();
  const header = pages.hasHeader ? pages.read(1) : undefined;
  let page = header?.readUInt32BE(32) ?? 0;
  while (page > 1 && page <= pages.count && !free.has(page)) {
    free.add(page);
    page = pages.read(page)?.readUInt32BE(0) ?? 0;
  }
  return free;
}
