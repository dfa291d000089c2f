import { PostriderError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Store } from "../ports/store.ts";

export interface FollowOptions {
  /** Start after this seq. Default: with the next new message. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** Messages per read. */
const PAGE = 256;

/**
 * Yields the messages of a session after a seq, in order and once, from all processes. A reader that continues with the last
 * seq it saw misses nothing.
 */
export function followSession(
  store: Store,
  asker: Asker,
  session: string,
  { after, signal }: FollowOptions,
): AsyncGenerator<Message> {
  // The default start is this call, not the first iteration.
  const start = after === undefined ? readLastSeq(store, asker, session) : Promise.resolve(after);
  start.catch(() => {}); // reported by the first iteration
  return streamMessages(store, asker, session, start, signal);
}

async function* streamMessages(
  store: Store,
  asker: Asker,
  session: string,
  start: Promise<number>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Message> {
  let wake = (): void => {};
  let changed = true;
  const stop = store.onChange(() => {
    changed = true;
    wake();
  });
  const abort = (): void => wake();
  signal?.addEventListener("abort", abort);
  try {
    let seq = await start;
    let known = false;
    while (!signal?.aborted) {
      changed = false;
      const page = await store.messages.listMessages({ asker, session, after: seq, limit: PAGE });
      if (page === undefined) {
        if (known) return; // it was removed
        throw new PostriderError("not_found", "There is no such session.");
      }
      known = true;
      for (const message of page) {
        if (signal?.aborted) return;
        seq = message.seq;
        yield message;
      }
      // A change during the read set the flag again; waiting would miss it.
      if (page.length < PAGE && !changed && !signal?.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    stop();
    signal?.removeEventListener("abort", abort);
  }
}

async function readLastSeq(store: Store, asker: Asker, session: string): Promise<number> {
  return (await store.sessions.getSession({ asker, session }))?.messageCount ?? 0;
}
