import type { ToolCall } from "../../core/message.ts";
import type { OldText } from "./old-text.ts";

/** A call as an editor knows it. */
export interface TrackedCall {
  readonly toolCallId: string;
  readonly call: ToolCall;
  /** What the file held that it writes. */
  readonly oldText?: OldText;
  /** The editor's terminal in which it runs. */
  terminalId?: string;
}

/** The calls that an editor was shown: each under an id of its own, some still without a result. */
export interface CallTracker {
  /** An id that no other call has. Providers count anew in each answer, so the place in the session tells them apart. */
  claimId(id: string, seq: number): string;
  /** What `idFor` would give, without taking it. */
  peekNextId(id: string, seq: number): string;
  /** The call waits for its result. Calls of an earlier message by the same id get none any more. */
  open(shown: TrackedCall, seq: number): void;
  /** The call that a result belongs to; it waits no longer. */
  close(id: string): TrackedCall | undefined;
  /** The waiting call of this id, which goes on waiting. */
  findOpen(id: string): TrackedCall | undefined;
  /** Everything is about to be shown again, under the same ids. */
  clear(): void;
}

export function callTracker(): CallTracker {
  const ids = new Set<string>();
  const open = new Map<string, { readonly seq: number; readonly calls: TrackedCall[] }>();
  function nextId(id: string, seq: number): string {
    let own = id === "" ? `call#${seq}` : id;
    if (ids.has(own)) own = `${id || "call"}#${seq}`;
    const base = own;
    for (let count = 2; ids.has(own); count += 1) own = `${base}.${count}`;
    return own;
  }
  return {
    claimId(id, seq) {
      const own = nextId(id, seq);
      ids.add(own);
      return own;
    },
    peekNextId: nextId,
    open(shown, seq) {
      const { id } = shown.call;
      const here = open.get(id);
      if (here?.seq === seq) here.calls.push(shown);
      else open.set(id, { seq, calls: [shown] });
    },
    close(id) {
      const here = open.get(id);
      const closed = here?.calls.shift();
      if (here?.calls.length === 0) open.delete(id);
      return closed;
    },
    findOpen: (id) => open.get(id)?.calls[0],
    clear() {
      ids.clear();
      open.clear();
    },
  };
}
