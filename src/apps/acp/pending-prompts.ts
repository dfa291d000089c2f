/** The prompts of the editor that have no answer yet. */
export interface PendingPrompts {
  /** Answers a prompt. The signal aborts when the request or the session is cancelled. */
  answer<Result>(
    session: string,
    request: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result>;
  /** Aborts the pending prompts of the session. Later prompts are not affected. */
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
