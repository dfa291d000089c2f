import type { CopyRow, CopyValue } from "./copy-end.ts";

const { createHash } = process.getBuiltinModule("node:crypto");

/** Hashes rows in a form that is the same on every engine. */
export interface RowHasher {
  add(row: CopyRow): void;
  digest(): string;
}

export function createRowHasher(): RowHasher {
  const hash = createHash("sha256");
  return {
    add(row) {
      hash.update(`${row.map(formatCanonical).join(",")}\n`);
    },
    digest: () => hash.digest("base64"),
  };
}

/** A text has its length, so no two rows have the same form. */
function formatCanonical(value: CopyValue): string {
  if (value === null) return "n";
  if (typeof value === "bigint") return `i${value}`;
  if (typeof value === "number") return `r${value}`;
  if (typeof value === "string") return `t${value.length}:${value}`;
  return `b${value.length}:${createHash("sha256").update(value).digest("base64")}`;
}
