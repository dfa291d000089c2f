/**
 * Which updates are stored. The next offset tells Telegram to forget everything before it, so it may only pass what is
 * stored; and it never falls within an album, or the rest would come again as another message.
 */
export interface UpdateTracker {
  /** False if it is here already: what is not confirmed comes with every answer. */
  add(id: number): boolean;
  /** These are one message: they are confirmed together. */
  join(ids: readonly number[]): void;
  markStored(ids: readonly number[]): void;
  /** Everything before it is stored, or will be with these. Undefined while nothing has come. */
  getNextOffset(with_?: readonly number[]): number | undefined;
  /** What lies before it will not come again. */
  forgetBefore(id: number): void;
  hasUnstored(): boolean;
}

interface TrackedUpdate {
  first: number;
  isStored: boolean;
}

export function createUpdateTracker(): UpdateTracker {
  const entries = new Map<number, TrackedUpdate>();
  /** The last that came. Telegram may start its numbers anew after a silent week, so it is not always the highest. */
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
      // Descending, so that an album which reaches into another takes that along.
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
