import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

/** `postrider` at the end of a pipe. */
export interface Pipe {
  readonly pid: number;
  say(lines: readonly string[]): void;
  endInput(): void;
  /** Whether so many whole lines have been printed in time, complaints included; false also when it ended before. */
  printed(lines: number, patienceMs: number): Promise<boolean>;
  kill(): void;
  readonly ended: Promise<PipeEnd>;
}

export interface PipeEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export function startPipe(home: string, agent: string, args: readonly string[]): Pipe {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { ...process.env, POSTRIDER_HOME: home, POSTRIDER_AGENT: agent },
  });
  let [out, err] = ["", ""];
  let hasEnded = false;
  const looks = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    out += data;
    for (const look of [...looks]) look();
  });
  child.stderr.setEncoding("utf8").on("data", (data: string) => {
    err += data;
    for (const look of [...looks]) look();
  });
  child.stdin.on("error", () => {}); // it is killed while somebody still speaks
  const ended = new Promise<PipeEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      hasEnded = true;
      for (const look of [...looks]) look();
      resolve({ code, signal, out, err });
    });
  });
  return {
    pid: child.pid ?? 0,
    say: (lines) => void child.stdin.write(lines.map((line) => `${line}\n`).join("")),
    endInput: () => void child.stdin.end(),
    printed: (lines, patienceMs) =>
      new Promise((resolve) => {
        const settle = (enough: boolean): void => {
          looks.delete(look);
          clearTimeout(timer);
          resolve(enough);
        };
        const look = (): void => {
          if (`${out}${err}`.split("\n").length > lines) settle(true);
          else if (hasEnded) settle(false);
        };
        const timer = setTimeout(settle, patienceMs, false);
        looks.add(look);
        look();
      }),
    kill: () => void child.kill("SIGKILL"),
    ended,
  };
}
