/** A bounded number of slots for each name, given in the order in which they were asked for. */
export interface KeyedSemaphore {
  /** Resolves when a slot is free, with the function that frees it again. */
  acquire(name: string): Promise<() => void>;
}

interface SlotQueue {
  taken: number;
  readonly waiting: (() => void)[];
}

export function createKeyedSemaphore(most: number): KeyedSemaphore {
  const lines = new Map<string, SlotQueue>();

  return {
    async acquire(name) {
      const line = lines.get(name) ?? { taken: 0, waiting: [] };
      lines.set(name, line);
      if (line.taken < most) line.taken += 1;
      else await new Promise<void>((resolve) => line.waiting.push(resolve));
      let isFree = false;
      return () => {
        if (isFree) return;
        isFree = true;
        const next = line.waiting.shift();
        // The slot passes on to whoever waits.
        if (next !== undefined) return next();
        line.taken -= 1;
        if (line.taken === 0) lines.delete(name);
      };
    },
  };
}
