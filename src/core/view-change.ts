import type { Message, NewMessage } from "./message.ts";
import type { Asker } from "./owner.ts";
import type { Blob } from "./turn.ts";
import type { UsageDelta } from "./usage.ts";

/** A change of what a session shows. What was said stays. */
export type ViewChange = {
  readonly asker: Asker;
  readonly session: string;
  readonly now: number;
  /** Of the turn that does it; without one, a running turn refuses it. */
  readonly fence?: number;
} & (
  | { /** Cuts from the last human message on. */ readonly kind: "undo" }
  | { /** Takes back the last undo or rewind, unless something was said since. */ readonly kind: "redo" }
  | {
      /** Shows nothing after this message. */
      readonly kind: "rewind";
      readonly to: { readonly session: string; readonly seq: number };
    }
  | {
      /** Shows a summary, then the last `keepLast` messages. */
      readonly kind: "compress";
      readonly summary: NewMessage;
      readonly keepLast: number;
    }
  | {
      /**
       * Shows a summary in place of the first `count` messages, of which `last` is the last, and what follows them by now.
       * Refused (`session_busy`) when something else stands there meanwhile: writing a summary takes a while.
       */
      readonly kind: "compress";
      readonly summary: NewMessage;
      readonly replaces: {
        readonly count: number;
        readonly last: { readonly session: string; readonly seq: number };
      };
      /** What the summary has cost, and that the next prompt is another: counted in the same commit. */
      readonly usage?: UsageDelta;
    }
  | { /** Shows what an earlier version showed. */ readonly kind: "restore"; readonly version: number }
  | {
      /** Shows these messages and nothing else. */
      readonly kind: "rewrite";
      readonly messages: readonly NewMessage[];
      readonly blobs?: readonly Blob[];
    }
);

export interface ViewChangeResult {
  readonly version: number;
  /** How many messages the session shows now, and showed before. */
  readonly length: number;
  readonly before: number;
  /** The first message that is no longer shown, after undo or rewind. */
  readonly firstCut?: Message;
}

/** How many earlier shapes of a session are kept, and for how long. */
export const KEPT_VERSIONS = 50;
export const KEPT_VERSIONS_MS: number = 30 * 24 * 3600 * 1000;
