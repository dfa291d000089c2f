import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

/** A `postrider` child process with pipes, as in a script. */
export interface Program {
  say(lines: readonly string[]): void;
  endInput(): void;
  /** Whether this many complete lines were printed in time, stderr included. False if the process ended before. */
  printed(lines: number, patienceMs: number): Promise<boolean>;
  kill(): void;
  signal(signal: NodeJS.Signals): void;
  readonly ended: Promise<ProgramEnd>;
}

export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export function startProgram(
  home: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Program {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { ...process.env, POSTRIDER_HOME: home, ...environment },
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
  child.stdin.on("error", () => {}); // the process may be killed during a write
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      hasEnded = true;
      for (const look of [...looks]) look();
      resolve({ code, signal, out, err });
    });
  });
  return {
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
    signal: (signal) => void child.kill(signal),
    ended,
  };
}

/** Runs the command until it exits, without input. */
export function runProgram(home: string, ...args: readonly string[]): Promise<ProgramEnd> {
  const program = startProgram(home, args);
  program.endInput();
  return program.ended;
}

/** Kills the process after `ms`, unless it has ended before. */
export async function killedAfter(program: Program, ms: number): Promise<ProgramEnd> {
  const timer = setTimeout(program.kill, ms);
  const end = await program.ended;
  clearTimeout(timer);
  return end;
}
