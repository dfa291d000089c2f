import type { Pages } from "./pages.ts";

export type CellValue = number | string | Buffer | null;

/** One entry of a page, with all its reachable content. */
export interface BtreeCell {
  /** Only in tables with row numbers. */
  readonly rowid?: number;
  readonly bytes: Buffer;
  /** The original number of bytes. */
  readonly length: number;
  readonly overflow: readonly number[];
}

export interface TreePage {
  readonly kind: "table" | "index";
  readonly isLeaf: boolean;
  /** Pages below this one, in order. */
  readonly children: readonly number[];
  readonly cells: readonly BtreeCell[];
  /** The number of invalid entries. */
  readonly broken: number;
}

const KINDS: Readonly<Record<number, Pick<TreePage, "kind" | "isLeaf">>> = {
  2: { kind: "index", isLeaf: false },
  5: { kind: "table", isLeaf: false },
  10: { kind: "index", isLeaf: true },
  13: { kind: "table", isLeaf: true },
};

/** Reads a page of a B-tree; `undefined` if it is none. */
export function readTreePage(pages: Pages, number: number): TreePage | undefined {
  const data = pages.read(number);
  const start = number === 1 ? 100 : 0;
  const kind = KINDS[data?.[start] ?? 0];
  if (data === undefined || kind === undefined) return undefined;
  const { usable } = pages;
  const pointers = start + (kind.isLeaf ? 8 : 12);
  const count = data.readUInt16BE(start + 3);
  if (pointers + 2 * count > usable) return undefined;
  const children: number[] = [];
  const cells: BtreeCell[] = [];
  let broken = 0;
  for (let index = 0; index < count; index += 1) {
    const at = data.readUInt16BE(pointers + 2 * index);
    if (at < pointers + 2 * count || at + 4 > usable) {
      broken += 1;
      continue;
    }
    if (!kind.isLeaf) children.push(data.readUInt32BE(at));
    if (kind.kind === "table" && !kind.isLeaf) continue;
    const cell = readCell(pages, data, at + (kind.isLeaf ? 0 : 4), kind.kind);
    if (cell === undefined) broken += 1;
    else cells.push(cell);
  }
  if (!kind.isLeaf) children.push(data.readUInt32BE(start + 8));
  // A random byte looks like a page kind once in 64 pages, but then its entries are invalid.
  if (count > 0 && broken === count) return undefined;
  return { ...kind, children, cells, broken };
}

function readCell(pages: Pages, data: Buffer, at: number, kind: "table" | "index"): BtreeCell | undefined {
  const { usable } = pages;
  const length = readVarint(data, at, usable);
  if (length === undefined || length.value > 1_000_000_000) return undefined;
  let body = length.end;
  let rowid: number | undefined;
  if (kind === "table") {
    const row = readVarint(data, body, usable);
    if (row === undefined) return undefined;
    rowid = row.value;
    body = row.end;
  }
  const local = getLocalLength(length.value, usable, kind);
  const isWhole = local === length.value;
  if (body + local + (isWhole ? 0 : 4) > usable) return undefined;
  const first = data.subarray(body, body + local);
  const rest = isWhole
    ? { chunks: [], pages: [] }
    : readOverflow(pages, data.readUInt32BE(body + local), length.value - local);
  return {
    ...(rowid !== undefined && { rowid }),
    bytes: rest.chunks.length === 0 ? first : Buffer.concat([first, ...rest.chunks]),
    length: length.value,
    overflow: rest.pages,
  };
}

/** The number of bytes of an entry that are on the page itself. */
function getLocalLength(length: number, usable: number, kind: "table" | "index"): number {
  const min = Math.floor(((usable - 12) * 32) / 255) - 23;
  const max = kind === "table" ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
  if (length <= max) return length;
  const local = min + ((length - min) % (usable - 4));
  return local <= max ? local : min;
}

/** The rest of a long entry, page by page, until it is complete or the chain breaks. */
function readOverflow(pages: Pages, first: number, length: number): { chunks: Buffer[]; pages: number[] } {
  const chunks: Buffer[] = [];
  const seen: number[] = [];
  const used = new Set<number>();
  let page = first;
  for (let left = length; left > 0; ) {
    if (page < 2 || page > pages.count || used.has(page)) break;
    const data = pages.read(page);
    if (data === undefined) break;
    const next = data.readUInt32BE(0);
    const take = Math.min(left, pages.usable - 4);
    // An overwritten page has a wrong link: to a page that does not exist, or none where the chain must continue.
    if (left > take ? next < 2 || next > pages.count : next !== 0) break;
    used.add(page);
    seen.push(page);
    chunks.push(data.subarray(4, 4 + take));
    left -= take;
    page = next;
  }
  return { chunks, pages: seen };
}

export interface DecodedRow {
  readonly values: readonly CellValue[];
  /** From this column on, data is missing; the text of this column may be incomplete. */
  readonly cutAt?: number;
}

/** The columns of an entry; `undefined` if its bytes are not a row. */
export function decodeRow(cell: BtreeCell): DecodedRow | undefined {
  const { bytes, length } = cell;
  const header = readVarint(bytes, 0, bytes.length);
  if (header === undefined || header.value < header.end || header.value > bytes.length) return undefined;
  const types: number[] = [];
  let total = header.value;
  for (let at = header.end; at < header.value; ) {
    const type = readVarint(bytes, at, header.value);
    if (type === undefined || type.value === 10 || type.value === 11) return undefined;
    types.push(type.value);
    total += getColumnSize(type.value);
    at = type.end;
  }
  if (total !== length) return undefined;
  const values: CellValue[] = [];
  let at = header.value;
  for (const type of types) {
    const size = getColumnSize(type);
    if (at + size > bytes.length) {
      const isText = type >= 13 && type % 2 === 1;
      const partial = isText ? decodePartialText(bytes.subarray(at)) : null;
      const cutAt = values.length;
      values.push(partial, ...types.slice(cutAt + 1).map(() => null));
      return { values, cutAt };
    }
    const value = decodeColumn(bytes, at, type, size);
    if (value === undefined) return undefined;
    values.push(value);
    at += size;
  }
  return { values };
}

const SIZES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];

function getColumnSize(type: number): number {
  return type < 12 ? (SIZES[type] ?? 0) : Math.floor((type - 12) / 2);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeColumn(bytes: Buffer, at: number, type: number, size: number): CellValue | undefined {
  if (type === 0) return null;
  if (type === 7) return bytes.readDoubleBE(at);
  if (type === 8 || type === 9) return type - 8;
  if (type === 6) return Number(bytes.readBigInt64BE(at));
  if (type < 6) return bytes.readIntBE(at, size);
  const data = bytes.subarray(at, at + size);
  if (type % 2 === 0) return data;
  try {
    return utf8.decode(data);
  } catch {
    return undefined;
  }
}

/** Without an incomplete character at the end. */
function decodePartialText(bytes: Buffer): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** SQLite's integers of one to nine bytes. Postrider stores none beyond 2^53. */
function readVarint(data: Buffer, at: number, end: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = at + index < end ? data[at + index] : undefined;
    if (byte === undefined) return undefined;
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) return undefined;
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return undefined;
}
