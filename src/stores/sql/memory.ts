import {
  applyMemoryChange,
  getMemoryOwner,
  type Memory,
  type MemoryChange,
  type MemoryOwner,
} from "../../core/memory.ts";
import type { PersonId } from "../../core/owner.ts";
import { isRefused, type Refused, refuse } from "../../core/refusal.ts";
import type { Db } from "./db.ts";
import { convertReadable, parseList, requireList } from "./json-columns.ts";
import {
  deleteMemoriesSql,
  deleteOldMemoriesSql,
  insertMemorySql,
  memoryOwnersSql,
  memoryVersionSql,
  memoryVersionsSql,
  newestMemorySql,
} from "./statements/memory.ts";

/** The number of versions that are kept for a restore. */
const KEPT_VERSIONS = 50;

interface MemoryRow {
  owner: MemoryOwner;
  version: number;
  at: number;
  entries: string;
}

export function changeMemory(
  db: Db,
  { owner, change, now }: { owner: MemoryOwner; change: MemoryChange; now: number },
): Memory | Refused {
  return applyMemoryChanges(db, owner, [change], now);
}

/** Applies all changes in order as one version; with `skipInvalid`, without those that do not apply. */
export function applyMemoryChanges(
  db: Db,
  owner: MemoryOwner,
  changes: readonly MemoryChange[],
  now: number,
  skipInvalid = false,
): Memory | Refused {
  const before = getMemory(db, { owner });
  let entries = before.entries;
  for (const change of changes) {
    const changed = applyMemoryChange(entries, change);
    if (!isRefused(changed)) entries = changed;
    else if (!skipInvalid) return changed;
  }
  return saveMemoryVersion(db, before, entries, now);
}

/** Saves a new version, unless it equals the last one. */
export function saveMemoryVersion(db: Db, before: Memory, entries: readonly string[], now: number): Memory {
  const { owner } = before;
  if (JSON.stringify(entries) === JSON.stringify(before.entries)) return before;
  const version = before.version + 1;
  db.send(insertMemorySql, owner, version, now, JSON.stringify(entries));
  db.send(deleteOldMemoriesSql, owner, version - KEPT_VERSIONS);
  return { owner, version, entries, at: now };
}

export function restoreMemory(
  db: Db,
  { owner, version, now }: { owner: MemoryOwner; version: number; now: number },
): Memory | Refused {
  const row = db.get<MemoryRow>(memoryVersionSql, owner, version);
  if (row === undefined)
    return refuse(
      "not_found",
      `There is no version ${version} of this memory. The newest ${KEPT_VERSIONS} are kept.`,
    );
  return saveMemoryVersion(db, getMemory(db, { owner }), toMemory(row).entries, now);
}

/** The memory of a person, and their memories in chats with others. */
export function listPersonMemories(db: Db, person: PersonId): (Memory & { readonly chat?: string })[] {
  const inChats = getMemoryOwner({ owner: person, audience: "" });
  const owners = db.all<{ owner: MemoryOwner }>(memoryOwnersSql, inChats, `${inChats}\u{10ffff}`);
  return [
    getMemory(db, { owner: person }),
    ...owners.map(({ owner }) => ({ ...getMemory(db, { owner }), chat: owner.slice(inChats.length) })),
  ];
}

/** Adds the memory of one person to that of another, as far as it fits. */
export function mergeMemories(db: Db, from: PersonId, to: PersonId, now: number): void {
  for (const { entries, chat } of listPersonMemories(db, from)) {
    const owner = getMemoryOwner({ owner: to, ...(chat !== undefined && { audience: chat }) });
    const moved = entries.map((text) => ({ action: "add", text }) as const);
    applyMemoryChanges(db, owner, moved, now, true);
  }
  eraseMemories(db, from);
}

export function eraseMemories(db: Db, person: PersonId): void {
  for (const { owner } of listPersonMemories(db, person)) db.send(deleteMemoriesSql, owner);
}

export function getMemory(db: Db, { owner }: { owner: MemoryOwner }): Memory {
  const row = db.get<MemoryRow>(newestMemorySql, owner);
  if (row === undefined) return { owner, version: 0, entries: [] };
  if (parseList(row.entries) !== undefined) return toMemory(row);
  // The last readable version replaces an unreadable one; the next version gets a number of its own.
  const [before] = listMemoryVersions(db, { owner });
  return { owner, entries: [], ...before, version: row.version };
}

export function listMemoryVersions(db: Db, input: { owner: MemoryOwner; limit?: number }): Memory[] {
  const limit = input.limit ?? KEPT_VERSIONS;
  return convertReadable(db.all<MemoryRow>(memoryVersionsSql, input.owner, limit), toMemory);
}

function toMemory({ owner, version, at, entries }: MemoryRow): Memory {
  const cell = { table: "memories", column: "entries", row: `${owner} ${version}` };
  return { owner, version, at, entries: requireList<string>(entries, cell) };
}
