/** Messages per commit. The sessions are locked for some milliseconds. */
const INDEX_CHUNK = 256;
const IDLE_MS = 200;
const RETRY_MS = 5000;

export interface Indexer {
  /** Called after each write: indexes when there was none for a moment. */
  schedule(): void;
  /** Indexes all pending messages now. */
  indexPending(): Promise<void>;
  close(): Promise<void>;
}

/** `indexChunk` returns the number of messages; less than its argument means that all are done. */
export function createIndexer(indexChunk: (limit: number) => Promise<number>): Indexer {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let wasCalled = false;
  let isClosed = false;

  async function indexPending(): Promise<void> {
    while ((await indexChunk(INDEX_CHUNK)) >= INDEX_CHUNK);
  }
  function indexWhenIdle(): void {
    timer = undefined;
    if (wasCalled) {
      wasCalled = false;
      wait(IDLE_MS);
      return;
    }
    // Searches read pending messages directly, so a failure can wait.
    running = indexPending()
      .catch(() => wait(RETRY_MS))
      .finally(() => {
        running = undefined;
      });
  }
  function wait(ms: number): void {
    if (isClosed) return;
    timer ??= setTimeout(indexWhenIdle, ms).unref();
  }
  return {
    schedule() {
      // Setting a timer again for every call takes longer than this.
      if (timer === undefined) wait(IDLE_MS);
      else wasCalled = true;
    },
    indexPending,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}
