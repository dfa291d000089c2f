/**
 * Tracks which updates are stored. Telegram forgets everything before the next offset, so the offset passes only stored
 * updates. It never splits an album, or the rest would arrive again as another message.
 */
export interface UpdateTracker {
  /** False if the update is known: Telegram returns unconfirmed updates with every poll. */
  add(id: number): boolean;
  /** Joins the updates of one message. They are confirmed together. */
  join(ids: readonly number[]): void;
  markStored(ids: readonly number[]): void;
  /** The offset before which all updates are stored, if `with_` count as stored. `undefined` before the first update. */
  getNextOffset(with_?: readonly number[]): number | undefined;
  /** Forgets the updates before `id`, which Telegram does not return any more. */
  forgetBefore(id: number): void;
  hasUnstored(): boolean;
}

interface TrackedUpdate {
  first: number;
  isStored: boolean;
}

export function createUpdateTracker(): UpdateTracker {
  const entries = new Map<number, TrackedUpdate>();
  /** The last update. Not always the highest id: Telegram may restart its numbers after a week without updates. */
  let last: number | undefined;

  return {
    add(id) {
      if (entries.has(id)) return false;
      entries.set(id, { first: id, isStored: false });
      last = id;
      return true;
    },
    join(ids) {
      const first = Math.min(...ids);
      for (const id of ids) {
        const entry = entries.get(id);
        if (entry !== undefined) entry.first = first;
      }
    },
    markStored(ids) {
      for (const id of ids) {
        const entry = entries.get(id);
        if (entry !== undefined) entry.isStored = true;
      }
    },
    getNextOffset(with_ = []) {
      if (last === undefined) return undefined;
      let low = last + 1;
      for (const [id, { isStored }] of entries) {
        if (!isStored && !with_.includes(id)) low = Math.min(low, id);
      }
      // Descending, so that an album that overlaps another one includes it.
      for (const [id, { first }] of [...entries].toSorted(([a], [b]) => b - a)) {
        if (id >= low && first < low) low = first;
      }
      return low;
    },
    forgetBefore(id) {
      for (const known of entries.keys()) if (known < id) entries.delete(known);
    },
    hasUnstored: () => [...entries.values()].some(({ isStored }) => !isStored),
  };
}
