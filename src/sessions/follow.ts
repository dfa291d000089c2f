import { PostriderError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Store } from "../ports/store.ts";

export interface FollowOptions {
  /** Begin after this seq; by default, with what is said from now on. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** A reader that is far behind catches up page by page. */
const PAGE = 256;

/**
 * Everything that is said in a session after a seq, in order, once, whichever process says it. The cursor is
 * (session, seq), so a reader that comes back with the last seq it saw misses nothing.
 */
export function followSession(
  store: Store,
  asker: Asker,
  session: string,
  { after, signal }: FollowOptions,
): AsyncGenerator<Message> {
  // "From now on" begins with this call, not with the first message that somebody waits for.
  const start = after === undefined ? readLastSeq(store, asker, session) : Promise.resolve(after);
  start.catch(() => {}); // whoever iterates meets it
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
      // A change during the read has set the flag again; waiting then would sleep through it.
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
