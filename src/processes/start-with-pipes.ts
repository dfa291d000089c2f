import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import type { Exit } from "../core/process.ts";
import { bornOf } from "../system/process-identity.ts";
import type { ProgramEvents, ProgramSpec, Running } from "./backend.ts";
import { holdProgram } from "./held-program.ts";
import { RECORD_PIPES, RUN_WITH_PIPES } from "./holder-scripts.ts";
import { keepSecrets } from "./kept-secrets.ts";
import { processMark } from "./members.ts";
import { FIRST_PLACE } from "./output-parts.ts";
import { untilOwnTick } from "./own-tick.ts";
import { makeProgramFolder, type ProgramFolder } from "./program-folder.ts";
import { connectRecorder, type Recorder, type RecorderConnection, recorderPath } from "./recorder.ts";
import { shell } from "./shell.ts";

/**
 * A program with a pipe to read from and one to print to. They are pipes of the kernel: what Node gives a child by itself
 * are sockets, which no program can open again as /dev/stdin or /dev/stderr, as many scripts do.
 */
export async function startWithPipes(root: string, spec: ProgramSpec, seen: ProgramEvents): Promise<Running> {
  const folder = await makeProgramFolder(root, spec.id, "in", "end", "out", "secrets");
  const ends = openEnds(folder);
  const kept = keepSecrets(folder, spec.secrets);
  let child: ChildProcess | undefined;
  let recorder: Recorder;
  const wrapper = Promise.withResolvers<Exit>();
  try {
    await untilOwnTick();
    const scripts = [
      RUN_WITH_PIPES,
      shell(),
      spec.command,
      folder.path,
      RECORD_PIPES,
      recorderPath(),
      spec.cwd,
    ];
    child = spawn("/bin/sh", ["-c", ...scripts], {
      cwd: folder.path, // bound to the folder itself: another start of the process makes a new one of that name
      env: { ...spec.environment, ...processMark(spec.id), TERM: "dumb" },
      stdio: [ends.read, ends.print, ends.print, ends.record, "pipe"],
      detached: true, // a session of its own, so that what it starts ends with it
    });
    child.on("error", () => {}); // once() tells
    child.on("exit", (code, signal) =>
      wrapper.resolve(code === null ? { signal: signal ?? "SIGKILL" } : { code }),
    );
    await once(child, "spawn");
    child.unref();
    recorder = await connectRecorder(child.stdio[4] as unknown as RecorderConnection);
  } catch (error) {
    child?.kill("SIGKILL");
    folder.remove();
    throw error;
  } finally {
    ends.close();
    kept.close();
  }
  const { pid = 0 } = child;
  const { begin, drained, letGo } = recorder;
  return holdProgram({
    program: { id: spec.id, pid, born: bornOf(pid) ?? "gone" },
    folder,
    pty: false,
    from: FIRST_PLACE,
    secrets: spec.secrets,
    seen,
    wrapper: wrapper.promise,
    drained,
    begin,
    letGo,
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
