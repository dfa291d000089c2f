import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { keepSecrets } from "./kept-secrets.ts";
import type { ProcessFolder } from "./process-folder.ts";
import { RECORD_TERMINAL } from "./wrapper-scripts.ts";

/** The shell that copies the output of a command into parts. It outlives the keeper. */
export interface Recorder {
  /** No process can print any more, or the recorder is gone. */
  readonly drained: Promise<void>;
  /** Lets the command start. */
  begin(): void;
  /** The recorder exits when it has nothing to read and the folder is gone. */
  disconnect(): void;
}

/** Connects the keeper and the recorder; see `wrapper-scripts.ts` for the messages. */
export type RecorderConnection = Duplex & { unref(): void };

/** Starts the recorder of a terminal, which reads from and writes to its other end. Resolves when it holds the input. */
export async function startTerminalRecorder(
  folder: ProcessFolder,
  secrets: readonly string[],
  terminal: number,
): Promise<Recorder> {
  const kept = keepSecrets(folder, secrets);
  try {
    const child = spawn("/bin/sh", ["-c", RECORD_TERMINAL, folder.path], {
      cwd: folder.path,
      detached: true,
      env: { PATH: getRecorderSearchPath(), LC_ALL: "C" },
      stdio: [terminal, "ignore", "ignore", terminal, "pipe"],
    });
    child.on("error", () => {}); // once() rejects
    await once(child, "spawn");
    child.unref();
    return await connectRecorder(child.stdio[4] as unknown as RecorderConnection);
  } finally {
    kept.close();
  }
}

/** Resolves when the recorder holds the input of the command, or is gone. */
export async function connectRecorder(connection: RecorderConnection): Promise<Recorder> {
  connection.on("error", () => {}); // the recorder is gone; "close" resolves both promises
  connection.unref();
  const ready = Promise.withResolvers<void>();
  const drained = Promise.withResolvers<void>();
  connection.setEncoding("utf8").on("data", (text: string) => {
    if (text.includes("ready")) ready.resolve();
    if (text.includes("drained")) drained.resolve();
  });
  connection.once("close", () => {
    ready.resolve();
    drained.resolve();
  });
  await ready.promise;
  return {
    drained: drained.promise,
    begin: () => void connection.write("\n"),
    disconnect: () => void connection.destroy(),
  };
}

/** The PATH of the recorder's shells. */
export function getRecorderSearchPath(): string {
  return process.env.PATH ?? "/bin:/usr/bin";
}
