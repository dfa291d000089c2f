import type { Exit } from "../core/process.ts";
import { bornOf } from "../system/process-identity.ts";
import type { ProgramEvents, ProgramSpec, Running } from "./backend.ts";
import { holdProgram } from "./held-program.ts";
import { RUN_IN_TERMINAL } from "./holder-scripts.ts";
import { processMark } from "./members.ts";
import { FIRST_PLACE } from "./output-parts.ts";
import { untilOwnTick } from "./own-tick.ts";
import { TERMINAL_SIZE } from "./processes.ts";
import { makeProgramFolder } from "./program-folder.ts";
import { type Recorder, startTerminalRecorder } from "./recorder.ts";
import { shell } from "./shell.ts";
import { signalName } from "./signal-name.ts";

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
  spec: ProgramSpec,
  seen: ProgramEvents,
): Promise<Running> {
  const { rows, columns: cols } = TERMINAL_SIZE;
  const folder = await makeProgramFolder(root, spec.id, "in", "gate", "secrets");
  await untilOwnTick();
  const terminal = terminals.spawn("/bin/sh", ["-c", RUN_IN_TERMINAL, shell(), spec.command, folder.path], {
    name: "xterm-256color",
    rows,
    cols,
    cwd: spec.cwd,
    env: { ...spec.environment, ...processMark(spec.id) },
  });
  // Else the library throws what goes wrong with it where nobody can catch it. Its end is told all the same.
  internals(terminal).on("error", () => {});
  const recording = startTerminalRecorder(folder, spec.secrets, internals(terminal).fd);
  recording.catch(() => {}); // awaited below
  // In the same tick, before it has read a byte: from now on only the recorder holds the other end.
  internals(terminal)._socket.destroy();
  const wrapper = new Promise<Exit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => resolve(exitOf(exitCode, signal)));
  });
  let recorder: Recorder;
  try {
    recorder = await recording;
  } catch (error) {
    terminal.kill("SIGKILL");
    folder.remove();
    throw error;
  }
  const { begin, drained, letGo } = recorder;
  return holdProgram({
    program: { id: spec.id, pid: terminal.pid, born: bornOf(terminal.pid) ?? "gone" },
    folder,
    pty: true,
    from: FIRST_PLACE,
    secrets: spec.secrets,
    seen,
    wrapper,
    drained,
    begin,
    letGo,
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

function exitOf(code: number, signal: number | undefined): Exit {
  return signal === undefined || signal === 0 ? { code } : { signal: signalName(signal) };
}
