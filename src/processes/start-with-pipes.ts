import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { PostriderError } from "../core/errors.ts";
import type { Exit } from "../core/process.ts";
import type { ProgramEvents, ProgramSpec, Running } from "./backend.ts";
import { bornOf } from "./born.ts";
import { openFifos } from "./fifos.ts";
import { shell } from "./shell.ts";

/** After its end: a program may have left another behind that holds its output open. */
const QUIET_MS = 100;
const LAST_OUTPUT_MS = 2000;
/** What waits to be read by it. */
const MOST_WAITING = 1024 * 1024;
/** It does nothing before it has read a line; if we are gone before that, it reads none. */
const GATE = 'read -r go || exit 125; exec "$0" -c "$1"';

/** A program with a pipe to read from and one to print to. */
export async function startWithPipes(spec: ProgramSpec, seen: ProgramEvents): Promise<Running> {
  const { ends, input, output, letGo } = await openFifos();
  input.on("error", () => {}); // it need not read
  output.on("error", () => {}); // closed with it
  output.setEncoding("utf8");
  let child: ChildProcess;
  try {
    child = spawn("/bin/sh", ["-c", GATE, shell(), spec.command], {
      cwd: spec.cwd,
      env: { ...spec.environment, TERM: "dumb" },
      stdio: [ends[0], ends[1], ends[1]],
      detached: true, // a session of its own, so that what it starts ends with it
    });
    await once(child, "spawn");
  } catch (error) {
    input.destroy();
    output.destroy();
    throw error;
  } finally {
    letGo();
  }
  const exited = new Promise<Exit>((resolve) => {
    child.on("exit", (code, signal) => resolve(code === null ? { signal: signal ?? "SIGKILL" } : { code }));
  });
  child.on("error", () => {}); // it runs; only its end counts
  const pid = child.pid ?? 0;
  const released = new Promise<void>((resolve) => void output.once("close", resolve));
  let hasEnded = false;
  output.on("data", (text: string) => {
    if (!hasEnded) seen.printed(text); // else read on for nobody, so that what it left behind is not stopped by it
  });
  void exited.then(async (exit) => {
    await lastOutput(output);
    hasEnded = true;
    input.destroy();
    seen.ended(exit);
  });
  return {
    pid,
    born: bornOf(pid) ?? "gone",
    pty: false,
    begin: () => void input.write("\n"),
    write(text) {
      if (input.writableLength + text.length > MOST_WAITING)
        throw new PostriderError("busy", "The process does not read its input; nothing more was written.");
      input.write(text);
    },
    endInput: () => void input.end(),
    resize() {
      throw new PostriderError("invalid_input", "The process has no terminal, so it has no size.");
    },
    released,
  };
}

/** Until it is closed, or silent for a moment, or has been waited for long enough. */
function lastOutput(output: Socket): Promise<void> {
  if (output.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(quiet);
      clearTimeout(last);
      output.off("data", more).off("close", done);
      resolve();
    };
    let quiet = setTimeout(done, QUIET_MS);
    const last = setTimeout(done, LAST_OUTPUT_MS);
    const more = (): void => {
      clearTimeout(quiet);
      quiet = setTimeout(done, QUIET_MS);
    };
    output.on("data", more).on("close", done);
  });
}
