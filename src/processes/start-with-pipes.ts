import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import type { Duplex } from "node:stream";
import type { Exit } from "../core/process.ts";
import type { ProgramEvents, ProgramSpec, Running } from "./backend.ts";
import { bornOf } from "./born.ts";
import { holdProgram } from "./held-program.ts";
import { RECORD_PIPES, RUN_WITH_PIPES } from "./holder-scripts.ts";
import { processMark } from "./members.ts";
import { FIRST_PLACE } from "./output-parts.ts";
import { makeProgramFolder, type ProgramFolder } from "./program-folder.ts";
import { type Recorder, startRecorder } from "./recorder.ts";
import { shell } from "./shell.ts";

/**
 * A program with a pipe to read from and one to print to. They are pipes of the kernel: what Node gives a child by itself
 * are sockets, which no program can open again as /dev/stdin or /dev/stderr, as many scripts do.
 */
export async function startWithPipes(root: string, spec: ProgramSpec, seen: ProgramEvents): Promise<Running> {
  const folder = await makeProgramFolder(root, spec.id, "in", "end", "out", "secrets");
  const ends = openEnds(folder);
  let child: ChildProcess | undefined;
  let recorder: Recorder;
  try {
    const recording = startRecorder(RECORD_PIPES, folder, spec.secrets, { output: ends.record });
    recording.catch(() => {}); // awaited below
    await new Promise(setImmediate); // each start of a process stops the loop for some milliseconds
    child = spawn("/bin/sh", ["-c", RUN_WITH_PIPES, shell(), spec.command, folder.path], {
      cwd: spec.cwd,
      env: { ...spec.environment, ...processMark(spec.id), TERM: "dumb" },
      stdio: [ends.read, ends.print, ends.print, "ignore", "pipe"],
      detached: true, // a session of its own, so that what it starts ends with it
    });
    child.on("error", () => {}); // once() tells
    await once(child, "spawn");
    recorder = await recording;
  } catch (error) {
    child?.kill("SIGKILL");
    folder.remove();
    throw error;
  } finally {
    ends.close();
  }
  const { pid = 0 } = child;
  const gate = child.stdio[4] as unknown as Duplex & { unref(): void };
  gate.on("error", () => {}); // it has ended before it was let
  gate.unref();
  child.unref();
  const wrapper = new Promise<Exit>((resolve) => {
    child.on("exit", (code, signal) => resolve(code === null ? { signal: signal ?? "SIGKILL" } : { code }));
  });
  const { drained, letGo } = recorder;
  return holdProgram({
    program: { id: spec.id, pid, born: bornOf(pid) ?? "gone" },
    folder,
    pty: false,
    from: FIRST_PLACE,
    secrets: spec.secrets,
    seen,
    wrapper,
    drained,
    letGo() {
      gate.destroy();
      letGo();
    },
    begin: () => void gate.end("\n"),
  });
}

/** What the command reads from and prints to, and what the recorder reads. In this order nobody waits for another. */
function openEnds(folder: ProgramFolder) {
  const opened: number[] = [];
  const open = (name: "in" | "out", flags: number): number => {
    const handle = openSync(folder.at(name), flags);
    opened.push(handle);
    return handle;
  };
  const close = (): void => {
    for (const handle of opened.splice(0)) closeSync(handle);
  };
  try {
    open("in", constants.O_RDWR | constants.O_NONBLOCK);
    open("out", constants.O_RDWR | constants.O_NONBLOCK);
    const read = open("in", constants.O_RDONLY);
    const print = open("out", constants.O_WRONLY);
    const record = open("out", constants.O_RDONLY);
    rmSync(folder.at("out"));
    return { read, print, record, close };
  } catch (error) {
    close();
    throw error;
  }
}
