import type { Exit } from "../core/process.ts";
import { readStartTime } from "../system/process-identity.ts";
import type { ProcessEvents, ProcessSpec, RunningProcess } from "./backend.ts";
import { OUTPUT_START } from "./output-reader.ts";
import { waitForOwnTick } from "./own-tick.ts";
import { createProcessFolder } from "./process-folder.ts";
import { buildMarkEnvironment } from "./process-tree.ts";
import { TERMINAL_SIZE } from "./processes.ts";
import { type Recorder, startTerminalRecorder } from "./recorder.ts";
import { openRunningProcess } from "./running-process.ts";
import { findShell } from "./shell.ts";
import { getSignalName } from "./signals.ts";
import { RUN_IN_TERMINAL } from "./wrapper-scripts.ts";

type Terminals = Pick<typeof import("@lydell/node-pty"), "spawn">;

/** `undefined` if the library has no build for this machine: then commands run with pipes. */
export async function loadTerminals(): Promise<Terminals | undefined> {
  try {
    return await import("@lydell/node-pty");
  } catch {
    return undefined;
  }
}

/** Starts a command in its own terminal. The recorder reads the other end, and keeps it open if the keeper crashes. */
export async function startWithTerminal(
  terminals: Terminals,
  root: string,
  spec: ProcessSpec,
  events: ProcessEvents,
): Promise<RunningProcess> {
  const { rows, columns: cols } = TERMINAL_SIZE;
  const folder = await createProcessFolder(root, spec.id, "in", "gate", "secrets");
  await waitForOwnTick();
  const terminal = terminals.spawn(
    "/bin/sh",
    ["-c", RUN_IN_TERMINAL, findShell(), spec.command, folder.path],
    {
      name: "xterm-256color",
      rows,
      cols,
      cwd: spec.cwd,
      env: { ...spec.environment, ...buildMarkEnvironment(spec.id) },
    },
  );
  // Otherwise the library throws errors where nothing can catch them. It reports the exit anyway.
  getInternals(terminal).on("error", () => {});
  const recording = startTerminalRecorder(folder, spec.secrets, getInternals(terminal).fd);
  recording.catch(() => {}); // awaited below
  // In the same tick, before it has read a byte: from now on only the recorder holds the other end.
  getInternals(terminal)._socket.destroy();
  const wrapper = new Promise<Exit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => resolve(toExit(exitCode, signal)));
  });
  let recorder: Recorder;
  try {
    recorder = await recording;
  } catch (error) {
    terminal.kill("SIGKILL");
    folder.remove();
    throw error;
  }
  const { begin, drained, disconnect } = recorder;
  return openRunningProcess({
    process: { id: spec.id, pid: terminal.pid, startTime: readStartTime(terminal.pid) ?? "gone" },
    folder,
    pty: true,
    from: OUTPUT_START,
    secrets: spec.secrets,
    events,
    wrapperExit: wrapper,
    drained,
    begin,
    disconnectRecorder: disconnect,
  });
}

/** Parts of the library that exist on this system and are not declared. */
interface Internals {
  readonly fd: number;
  readonly _socket: { destroy(): void };
  on(event: "error", listener: () => void): void;
}

function getInternals(terminal: unknown): Internals {
  return terminal as Internals;
}

function toExit(code: number, signal: number | undefined): Exit {
  return signal === undefined || signal === 0 ? { code } : { signal: getSignalName(signal) };
}
