import type { PlatformCursor } from "../core/turn.ts";
import { pause } from "../system/pause.ts";
import { type Flow, runInBackground } from "./flow.ts";

/** Stores the platform's cursor after messages that leave no row: one commit for many. */
export interface DroppedCursors {
  record(cursor: PlatformCursor | undefined): void;
}

const STORE_EVERY_MS = 250;

export function droppedCursors({ store, clock, log, signal }: Flow): DroppedCursors {
  const latest = new Map<string, PlatformCursor>();

  async function storeLater(): Promise<void> {
    await pause(STORE_EVERY_MS, signal);
    const cursors = [...latest.values()];
    latest.clear();
    // A cursor that is not stored only means that the platform delivers these messages again.
    if (signal.aborted) return;
    const now = clock.now();
    await Promise.all(cursors.map((cursor) => store.inbox.moveCursor({ cursor, now })));
  }

  return {
    record(cursor) {
      if (cursor === undefined) return;
      const isFirst = latest.size === 0;
      latest.set(cursor.name, cursor);
      if (isFirst) runInBackground(log, "storing a cursor", storeLater());
    },
  };
}
