/** A limited number of slots for each name, assigned in the order of the requests. */
export interface KeyedSemaphore {
  /** Resolves when a slot is free, with a function that releases it. */
  acquire(name: string): Promise<() => void>;
}

interface SlotQueue {
  taken: number;
  readonly waiting: (() => void)[];
}

export function createKeyedSemaphore(slots: number): KeyedSemaphore {
  const queues = new Map<string, SlotQueue>();

  return {
    async acquire(name) {
      const queue = queues.get(name) ?? { taken: 0, waiting: [] };
      queues.set(name, queue);
      if (queue.taken < slots) queue.taken += 1;
      else await new Promise<void>((resolve) => queue.waiting.push(resolve));
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        const next = queue.waiting.shift();
        // The next waiter gets this slot.
        if (next !== undefined) return next();
        queue.taken -= 1;
        if (queue.taken === 0) queues.delete(name);
      };
    },
  };
}
