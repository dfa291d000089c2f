/** All error codes. They are part of the public API: codes are added, never renamed. */
export type ErrorCode =
  | "invalid_input"
  | "invalid_config"
  | "missing_package"
  | "too_large"
  | "not_found"
  | "ambiguous"
  | "not_allowed"
  | "run_by_agent"
  | "title_taken"
  | "nothing_to_undo"
  | "nothing_to_redo"
  | "stale_fence"
  | "session_busy"
  | "disk_full"
  | "read_only"
  | "corrupt"
  | "store_lost"
  | "store_unavailable"
  | "newer_schema"
  | "incomplete_copy"
  | "busy"
  | "file_exists"
  | "in_use"
  | "closed"
  | "agent_failed"
  | "expired"
  | "locked_out"
  | "too_many"
  | "platform_refused"
  | "platform_down"
  | "internal";

/** The only error class. `code` is stable, for programs; the message is for people. Neither contains a secret. */
export class PostriderError extends Error {
  readonly code: ErrorCode;
  /** The subject of the error, such as `{ field: "chat_id" }`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PostriderError";
    this.code = code;
    this.details = options.details ?? {};
  }
}
