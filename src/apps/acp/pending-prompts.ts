/** What has been asked in the threads of an editor and has no answer yet. */
export interface PendingPrompts {
  /** Answers a prompt. Its signal aborts when its request is cancelled, or whatever was asked in the session before. */
  answer<Result>(
    session: string,
    request: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
  /** Aborts what was asked in the session up to now, and nothing that is asked after it. */
  cancel(session: string): void;
}

export function pendingPrompts(): PendingPrompts {
  const open = new Map<string, Set<AbortController>>();
  return {
    async answer(session, request, work) {
      const abort = new AbortController();
      const here = open.get(session) ?? new Set();
      open.set(session, here.add(abort));
      try {
        return await work(AbortSignal.any([request, abort.signal]));
      } finally {
        here.delete(abort);
        if (here.size === 0 && open.get(session) === here) open.delete(session);
      }
    },
    cancel(session) {
      for (const abort of open.get(session) ?? []) abort.abort();
    },
  };
}
