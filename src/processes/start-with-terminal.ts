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
import { getSignalName } from "./signal-name.ts";
import { RUN_IN_TERMINAL } from "./wrapper-scripts.ts";

type Terminals = Pick<typeof import("@lydell/node-pty"), "spawn">;

/** `undefined` where there is no build of the library for this machine: pipes must do then. */
export async function loadTerminals(): Promise<Terminals | undefined> {
  try {
    return await import("@lydell/node-pty");
  } catch {
    return undefined;
  }
}

/** A program in a terminal of its own. The recorder reads its other end, and keeps it open when we are gone. */
export async function startWithTerminal(
  terminals: Terminals,
  root: string,
  spec: ProcessSpec,
  seen: ProcessEvents,
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
  // Else the library throws what goes wrong with it where nobody can catch it. Its end is told all the same.
  internals(terminal).on("error", () => {});
  const recording = startTerminalRecorder(folder, spec.secrets, internals(terminal).fd);
  recording.catch(() => {}); // awaited below
  // In the same tick, before it has read a byte: from now on only the recorder holds the other end.
  internals(terminal)._socket.destroy();
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
    events: seen,
    wrapperExit: wrapper,
    drained,
    begin,
    disconnectRecorder: disconnect,
  });
}

/** What the library has on this system and does not declare. */
interface Internals {
  readonly fd: number;
  readonly _socket: { destroy(): void };
  on(event: "error", listener: () => void): void;
}

function internals(terminal: unknown): Internals {
  return terminal as Internals;
}

function toExit(code: number, signal: number | undefined): Exit {
  return signal === undefined || signal === 0 ? { code } : { signal: getSignalName(signal) };
}
