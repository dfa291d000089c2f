import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { type Editor, editorAt } from "../acp/editor.ts";
import type { CliEnded } from "../support/cli.ts";
import type { FullHome } from "./full-home.ts";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

/** Runs `postrider` in the project's folder until it exits, with this input. */
export function runPostrider(at: FullHome, args: readonly string[], input = ""): Promise<CliEnded> {
  const child = start(at, args);
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  child.stdin.on("error", () => {}); // it may exit before it has read everything
  child.stdin.end(input);
  return new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal, out, err })));
}

/** An editor that has started `postrider acp` as a child process. */
export async function startEditor(at: FullHome): Promise<Editor> {
  const child = start(at, ["acp"]);
  child.stderr.resume();
  const editor = editorAt(child.stdin, child.stdout, { cwd: at.folder });
  await editor.initialize();
  return editor;
}

function start({ folder, environment }: FullHome, args: readonly string[]) {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: { ...process.env, ...environment },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}
