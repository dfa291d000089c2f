import type { Message } from "../core/message.ts";
import type { Asker } from "../core/owner.ts";
import type { Store } from "../ports/store.ts";

/**
 * Everything that is said in a session after a seq, in order, once, whichever process says it. The cursor is
 * (session, seq), so a reader that comes back with the last seq it saw misses nothing.
 */
export async function* follow(
  store: Store,
  asker: Asker,
  session: string,
  { after, signal }: { readonly after?: number; readonly signal?: AbortSignal },
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
    let seq = after ?? (await lastSeq(store, asker, session));
    while (!signal?.aborted) {
      changed = false;
      for (const message of (await store.messages({ asker, session, after: seq })) ?? []) {
        seq = message.seq;
        yield message;
      }
      // A change during the read has set the flag again; waiting then would sleep through it.
      if (!changed && !signal?.aborted) {
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

async function lastSeq(store: Store, asker: Asker, session: string): Promise<number> {
  const [found] = await store.find({ asker, text: session });
  return found?.messageCount ?? 0;
}
