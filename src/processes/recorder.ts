import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { keepSecrets } from "./kept-secrets.ts";
import type { ProcessFolder } from "./process-folder.ts";
import { RECORD_TERMINAL } from "./wrapper-scripts.ts";

/** The shell that copies what a command prints into parts. It outlives the keeper. */
export interface Recorder {
  /** Nobody can print any more, or the recorder is gone. */
  readonly drained: Promise<void>;
  /** Lets the command begin. */
  begin(): void;
  /** The recorder ends when it has nothing to read and the folder is gone. */
  disconnect(): void;
}

/** What the recorder and the keeper say to each other through it is in `holder-scripts.ts`. */
export type RecorderConnection = Duplex & { unref(): void };

/** Starts the recorder of a terminal, which reads its other end and writes into it. Resolves when it holds the input. */
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
    child.on("error", () => {}); // once() tells
    await once(child, "spawn");
    child.unref();
    return await connectRecorder(child.stdio[4] as unknown as RecorderConnection);
  } finally {
    kept.close();
  }
}

/** Resolves when the recorder at the other end holds the input of the command, or is gone. */
export async function connectRecorder(connection: RecorderConnection): Promise<Recorder> {
  connection.on("error", () => {}); // it is gone, which ends what is waited for here
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

/** Where the shells of a recorder find their tools. */
export function getRecorderSearchPath(): string {
  return process.env.PATH ?? "/bin:/usr/bin";
}
