/** The result of one step at the head of a queue. */
export interface QueueStep {
  /** How many items the step has stored, from the first on; at least one. */
  readonly taken: number;
  /** Work that the rest of the queue waits for. */
  readonly after?: Promise<void>;
}

export interface ChatQueuesOptions<Item> {
  /** Stores some of the first items of a queue, in their order. */
  take(items: readonly [Item, ...Item[]]): Promise<QueueStep>;
  /** An item that finds its queue full is not queued. */
  onOverflow(item: Item): Promise<void>;
  onError(error: unknown): void;
  /** The greatest length of a queue. */
  readonly maxQueued: number;
  /** How many items one step may take. */
  readonly batchSize: number;
}

/** A queue per chat. Each runs one step at a time, so a long queue delays no other by more than one step. */
export interface ChatQueues<Item> {
  /** Resolves when the item is stored. Rejects when it, or an item before it in the queue, was not. */
  add(chat: string, item: Item): Promise<void>;
}

interface QueueEntry<Item> extends Pick<PromiseWithResolvers<void>, "resolve" | "reject"> {
  readonly item: Item;
}

export function chatQueues<Item>(options: ChatQueuesOptions<Item>): ChatQueues<Item> {
  const { maxQueued, batchSize } = options;
  const queues = new Map<string, QueueEntry<Item>[]>();

  async function work(chat: string, queue: QueueEntry<Item>[]): Promise<void> {
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      const more = queue.slice(1, batchSize).map(({ item }) => item);
      try {
        const { taken, after } = await options.take([first.item, ...more]);
        for (const { resolve } of queue.splice(0, taken)) resolve();
        await after?.catch(options.onError);
      } catch (error) {
        options.onError(error);
        // No item overtakes one that is not stored: the platform delivers all of them again, in their order.
        for (const { reject } of queue.splice(0)) reject(error);
      }
    }
    queues.delete(chat);
  }

  return {
    add(chat, item) {
      const queue = queues.get(chat);
      if (queue !== undefined && queue.length >= maxQueued) return options.onOverflow(item);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      if (queue !== undefined) queue.push({ item, resolve, reject });
      else {
        const started = [{ item, resolve, reject }];
        queues.set(chat, started);
        void work(chat, started);
      }
      return promise;
    },
  };
}
