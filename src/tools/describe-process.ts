import { constants } from "node:os";
import { textPart } from "../core/message.ts";
import type { Exit, Process } from "../core/process.ts";
import type { ToolOutput } from "../ports/tool.ts";

const MAX_COMMAND_LENGTH = 200;
const DETACHED_NOTE =
  "It still runs, but the process keeper crashed: its new output and exit code cannot be read, and nothing can be written to it.";

const UNKNOWN_EXIT_NOTE =
  "It has ended, but its exit code is unknown, because the process keeper had crashed.";

export type ProcessFields = Readonly<Record<string, unknown>>;

/** Describes a process for the model, without its output. */
export function describeProcess({ id, command, begunAt, status }: Process, now: number): ProcessFields {
  const until = status.state === "ended" ? status.at : now;
  return {
    session_id: id,
    command: command.length > MAX_COMMAND_LENGTH ? `${command.slice(0, MAX_COMMAND_LENGTH)}…` : command,
    status: status.state === "ended" ? "exited" : status.state,
    pid: status.state === "running" ? status.pid : null,
    started_at: new Date(begunAt).toISOString(),
    uptime_seconds: Math.max(0, Math.round((until - begunAt) / 1000)),
    ...(status.state === "ended" && describeEnd(status.exit)),
    ...(status.state === "running" && status.detached && { detached: true, note: DETACHED_NOTE }),
  };
}

export function toJsonOutput(fields: ProcessFields, failed = false): ToolOutput {
  return { parts: [textPart(JSON.stringify(fields))], ...(failed && { failed: true }) };
}

function describeEnd(exit: Exit): ProcessFields {
  return {
    exit_code: toExitCode(exit),
    ...("signal" in exit && { signal: exit.signal }),
    ...("unknown" in exit && { note: UNKNOWN_EXIT_NOTE }),
  };
}

/** As Node gives it: a code, or the number of the signal below zero. `null` when it is unknown. */
function toExitCode(exit: Exit): number | null {
  if ("code" in exit) return exit.code;
  if ("unknown" in exit) return null;
  const number = Object.entries(constants.signals).find(([name]) => name === exit.signal)?.[1];
  return number === undefined ? null : -number;
}
