import type { ToolCall } from "../../core/message.ts";
import type { OldText } from "./old-text.ts";

/** A tool call that the editor shows. */
export interface TrackedCall {
  readonly toolCallId: string;
  readonly call: ToolCall;
  /** The old text of the file that the call writes. */
  readonly oldText?: OldText;
  /** The editor's terminal that runs the call. */
  terminalId?: string;
}

/** The calls that the editor shows, each with a unique id, and those without a result. */
export interface CallTracker {
  /** Takes a unique id. Providers may repeat ids in each answer, so the seq of the message makes them differ. */
  claimId(id: string, seq: number): string;
  /** The id that `claimId` would return. */
  peekNextId(id: string, seq: number): string;
  /** The call has no result yet. Calls of an earlier message with the same id no longer get one. */
  open(shown: TrackedCall, seq: number): void;
  /** Returns the call that a result belongs to, and forgets it. */
  close(id: string): TrackedCall | undefined;
  /** The first call with this id that has no result. */
  findOpen(id: string): TrackedCall | undefined;
  /** A replay follows, with the same ids. */
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
