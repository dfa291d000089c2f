import type { Message, NewMessage } from "./message.ts";
import type { Asker } from "./owner.ts";
import type { Blob } from "./turn.ts";
import type { UsageDelta } from "./usage.ts";

/** A change of a session's view. Stored messages stay. */
export type ViewChange = {
  readonly asker: Asker;
  readonly session: string;
  readonly now: number;
  /** The fence of the calling turn. Without it, the change is refused while a turn runs. */
  readonly fence?: number;
} & (
  | { /** Cuts the last human message and everything after it. */ readonly kind: "undo" }
  | { /** Reverts the last undo or rewind, if there is no message since. */ readonly kind: "redo" }
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
       * Shows a summary instead of the first `count` messages, whose last one is `last`, then the messages after them.
       * Refused with `session_busy` if these messages changed while the summary was written.
       */
      readonly kind: "compress";
      readonly summary: NewMessage;
      readonly replaces: {
        readonly count: number;
        readonly last: { readonly session: string; readonly seq: number };
      };
      /** The usage of the summary, recorded in the same commit. */
      readonly usage?: UsageDelta;
    }
  | { /** Restores an earlier version of the view. */ readonly kind: "restore"; readonly version: number }
  | {
      /** Shows only these new messages. */
      readonly kind: "rewrite";
      readonly messages: readonly NewMessage[];
      readonly blobs?: readonly Blob[];
    }
);

export interface ViewChangeResult {
  readonly version: number;
  /** The number of messages that the session shows now. `before`: before the change. */
  readonly length: number;
  readonly before: number;
  /** The first message that is no longer shown, after undo or rewind. */
  readonly firstCut?: Message;
}

/** How many earlier versions of a view are kept, and for how long. */
export const KEPT_VERSIONS = 50;
export const KEPT_VERSIONS_MS: number = 30 * 24 * 3600 * 1000;
