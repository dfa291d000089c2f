import { constants } from "node:os";
import type { Exit } from "../core/process.ts";
import type { ProgramEvents, ProgramSpec, Running } from "./backend.ts";
import { bornOf } from "./born.ts";
import { closedGate, THROUGH_GATE } from "./gate.ts";
import { TERMINAL_SIZE } from "./processes.ts";
import { shell } from "./shell.ts";

type Terminals = Pick<typeof import("@lydell/node-pty"), "spawn">;

/** Control and D: what a person types where input ends. */
const END_OF_INPUT = "\x04";

/** `undefined` where there is no build of the library for this machine: pipes must do then. */
export async function loadTerminals(): Promise<Terminals | undefined> {
  try {
    return await import("@lydell/node-pty");
  } catch {
    return undefined;
  }
}

/** A program in a terminal of its own. If we are gone, so is its terminal, and the kernel hangs up on it. */
export async function startWithTerminal(
  terminals: Terminals,
  spec: ProgramSpec,
  seen: ProgramEvents,
): Promise<Running> {
  const { rows, columns: cols } = TERMINAL_SIZE;
  const gate = await closedGate();
  const terminal = terminals.spawn("/bin/sh", ["-c", THROUGH_GATE, shell(), spec.command, gate.path], {
    name: "xterm-256color",
    rows,
    cols,
    cwd: spec.cwd,
    env: { ...spec.environment },
  });
  // Else the library throws what goes wrong with it where nobody can catch it. Its end is told all the same.
  (terminal as unknown as { on(event: "error", listener: () => void): void }).on("error", () => {});
  const released = Promise.withResolvers<void>();
  let hasEnded = false;
  terminal.onData((text) => {
    if (!hasEnded) seen.printed(text);
  });
  // Told after the last output: the library waits for the terminal to close, but not for those who keep it open.
  terminal.onExit(({ exitCode, signal }) => {
    hasEnded = true;
    gate.close();
    seen.ended(exitOf(exitCode, signal));
    released.resolve();
  });
  return {
    pid: terminal.pid,
    born: bornOf(terminal.pid) ?? "gone",
    pty: true,
    begin: gate.open,
    write: (text) => terminal.write(text),
    endInput: () => terminal.write(END_OF_INPUT),
    resize: (size) => terminal.resize(size.columns, size.rows),
    released: released.promise,
  };
}

function exitOf(code: number, signal: number | undefined): Exit {
  if (signal === undefined || signal === 0) return { code };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { signal: name ?? `SIG${signal}` };
}
