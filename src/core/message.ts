/** user and assistant speak, tool answers a call, note is anything else the log must keep. */
export type Role = "user" | "assistant" | "tool" | "note";

export const ROLES: readonly Role[] = ["user", "assistant", "tool", "note"];

/** Bytes live once, by hash, in the blob table; a part only names them. */
export interface BlobRef {
  readonly blob: string;
  readonly mimeType: string;
  readonly size: number;
  readonly name?: string;
}

export type Part =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & BlobRef)
  | ({ readonly type: "file" } & BlobRef)
  | {
      readonly type: "resource";
      readonly uri: string;
      readonly mimeType?: string;
      readonly text?: string;
      readonly blob?: string;
    };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** As the model gave it: an object when it was valid JSON, else the raw text. */
  readonly arguments: unknown;
}

/** Where a message came from or went, and how it came about. */
export interface MessageOrigin {
  readonly platform?: string;
  readonly platformMessageId?: string;
  readonly userId?: string;
  readonly userName?: string;
  /** Sent by us without being asked: a job's result, a process's end. */
  readonly proactive?: boolean;
  /** The answer was cut off; the text is what had arrived. */
  readonly interrupted?: boolean;
}

/** What a caller gives to append. `at` defaults to the append's instant. */
export interface NewMessage {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly at?: number;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly tokens?: number;
  readonly origin?: MessageOrigin;
  /** Opaque to Postrider, kept as given. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One immutable row, named by (session, seq). */
export interface Message extends NewMessage {
  /** The session in whose run it was said; in a fork this may be the origin. */
  readonly session: string;
  readonly seq: number;
  readonly at: number;
}

/** One part's bytes; also the limit of a message's texts together. */
export const MAX_PART_BYTES: number = 25 * 1024 * 1024;
