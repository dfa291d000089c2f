import type { Process } from "../../../core/process.ts";
import { sourceToJson } from "../../../core/source.ts";

/** Formats a process as JSON; see docs/json.md. Absent fields are null. */
export function formatProcessJson(process: Process): Record<string, unknown> {
  const { status, watch } = process;
  const exit = status.state === "ended" ? status.exit : undefined;
  return {
    id: process.id,
    session: process.session,
    command: process.command,
    cwd: process.cwd,
    background: process.background,
    pty: process.pty,
    state: status.state,
    pid: status.state === "running" ? status.pid : null,
    detached: status.state === "running" && status.detached,
    begun_at: process.begunAt,
    ended_at: status.state === "ended" ? status.at : null,
    exit_code: exit !== undefined && "code" in exit ? exit.code : null,
    exit_signal: exit !== undefined && "signal" in exit ? exit.signal : null,
    printed: process.total,
    watch: {
      mode: watch.mode,
      every_ms: watch.everyMs ?? null,
      patterns: watch.patterns,
      wakes: watch.wakes,
    },
    matches: process.matches.count,
    target: sourceToJson(process.target),
  };
}
