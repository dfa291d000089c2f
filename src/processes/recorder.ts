import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { keepSecrets } from "./kept-secrets.ts";
import type { ProgramFolder } from "./program-folder.ts";

/** The shell that copies what a command prints into parts. It outlives the keeper. */
export interface Recorder {
  /** Nobody can print any more, or the recorder is gone. */
  readonly drained: Promise<void>;
  /** Lets a command in a terminal begin. */
  begin(): void;
  /** The recorder ends when it has nothing to read and the folder is gone. */
  letGo(): void;
}

/** Resolves when it holds the input of the command. */
export async function startRecorder(
  script: string,
  folder: ProgramFolder,
  secrets: readonly string[],
  /** What it reads; a terminal is written to as well. */
  { output, isTerminal = false }: { readonly output: number; readonly isTerminal?: boolean },
): Promise<Recorder> {
  const kept = keepSecrets(folder, secrets);
  const child: ChildProcess = spawn("/bin/sh", ["-c", script, folder.path], {
    cwd: folder.path,
    detached: true,
    env: { PATH: process.env.PATH ?? "/bin:/usr/bin", LC_ALL: "C" },
    stdio: [output, "ignore", "ignore", isTerminal ? output : "ignore", "pipe"],
  });
  child.on("error", () => {}); // once() tells
  await once(child, "spawn").catch((error: unknown) => {
    kept.close();
    throw error;
  });
  child.unref();
  const connection = child.stdio[4] as unknown as Duplex & { unref(): void };
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
  kept.close();
  return {
    drained: drained.promise,
    begin: () => void connection.write("\n"),
    letGo: () => void connection.destroy(),
  };
}
