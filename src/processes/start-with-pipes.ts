import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import type { Exit } from "../core/process.ts";
import { readStartTime } from "../system/process-identity.ts";
import type { ProcessEvents, ProcessSpec, RunningProcess } from "./backend.ts";
import { keepSecrets } from "./kept-secrets.ts";
import { OUTPUT_START } from "./output-reader.ts";
import { waitForOwnTick } from "./own-tick.ts";
import { createProcessFolder, type ProcessFolder } from "./process-folder.ts";
import { buildMarkEnvironment } from "./process-tree.ts";
import {
  connectRecorder,
  getRecorderSearchPath,
  type Recorder,
  type RecorderConnection,
} from "./recorder.ts";
import { openRunningProcess } from "./running-process.ts";
import { findShell } from "./shell.ts";
import { RECORD_PIPES, RUN_WITH_PIPES } from "./wrapper-scripts.ts";

/**
 * Starts a command with pipes for input and output. They are pipes of the kernel: Node gives a child sockets, which no
 * process can open again as /dev/stdin or /dev/stderr, as many scripts do.
 */
export async function startWithPipes(
  root: string,
  spec: ProcessSpec,
  events: ProcessEvents,
): Promise<RunningProcess> {
  const folder = await createProcessFolder(root, spec.id, "in", "end", "out", "secrets");
  const ends = openEnds(folder);
  const kept = keepSecrets(folder, spec.secrets);
  let child: ChildProcess | undefined;
  let recorder: Recorder;
  const wrapper = Promise.withResolvers<Exit>();
  try {
    await waitForOwnTick();
    const scripts = [
      RUN_WITH_PIPES,
      findShell(),
      spec.command,
      folder.path,
      RECORD_PIPES,
      getRecorderSearchPath(),
      spec.cwd,
    ];
    child = spawn("/bin/sh", ["-c", ...scripts], {
      cwd: folder.path, // bound to the folder itself: another start of this process makes a new folder with the same name
      env: { ...spec.environment, ...buildMarkEnvironment(spec.id), TERM: "dumb" },
      stdio: [ends.read, ends.print, ends.print, ends.record, "pipe"],
      detached: true, // a session of its own, so that its descendants end with it
    });
    child.on("error", () => {}); // once() rejects
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
  const { begin, drained, disconnect } = recorder;
  return openRunningProcess({
    process: { id: spec.id, pid, startTime: readStartTime(pid) ?? "gone" },
    folder,
    pty: false,
    from: OUTPUT_START,
    secrets: spec.secrets,
    events,
    wrapperExit: wrapper.promise,
    drained,
    begin,
    disconnectRecorder: disconnect,
  });
}

/** The ends of the pipes for the command and for the recorder. In this order, no open blocks. */
function openEnds(folder: ProcessFolder) {
  const opened: number[] = [];
  const open = (name: "in" | "out", flags: number): number => {
    const handle = openSync(folder.getFilePath(name), flags);
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
    rmSync(folder.getFilePath("out"));
    return { read, print, record, close };
  } catch (error) {
    close();
    throw error;
  }
}
