import { type ErrorCode, PostriderError } from "../../core/errors.ts";
import { STORE_LOST_EXIT_CODE } from "../exit-on-lost-store.ts";
import { type Io, printNotice } from "./io.ts";

/** The exit codes; docs/commands.md lists them. */
const EXIT_CODES: Readonly<Partial<Record<ErrorCode, number>>> = {
  not_found: 3,
  ambiguous: 4,
  not_allowed: 5,
  run_by_agent: 5,
  title_taken: 5,
  nothing_to_undo: 5,
  nothing_to_redo: 5,
  session_busy: 5,
  file_exists: 5,
  in_use: 5,
  incomplete_copy: 5,
  expired: 5,
  locked_out: 5,
  store_lost: STORE_LOST_EXIT_CODE,
};

/** Prints the error on stderr, as JSON if requested, and returns the exit code. */
export function printFailure(io: Io, error: unknown, json: boolean): number {
  const { code, message, details } = toErrorFields(error);
  if (json) printNotice(io, JSON.stringify({ error: { code, message, details } }));
  else {
    printNotice(io, `postrider: ${message}`);
    if (Array.isArray(details.candidates)) {
      for (const { id, handle, title, command } of details.candidates)
        printNotice(io, `  ${[handle, id, title ?? command].filter(Boolean).join("  ")}`);
    }
  }
  return details.arguments === true ? 2 : (EXIT_CODES[code] ?? 1);
}

function toErrorFields(error: unknown): Pick<PostriderError, "code" | "message" | "details"> {
  if (error instanceof PostriderError) return error;
  const { message = String(error) } = (error ?? {}) as Partial<Error>;
  return { code: "internal", message, details: {} };
}
