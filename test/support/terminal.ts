import { fileURLToPath } from "node:url";
import { spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { onTestFinished } from "vitest";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

export interface TerminalOptions {
  readonly columns?: number;
  readonly rows?: number;
  /** In addition to this process's own; `undefined` removes a name. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly folder?: string;
  /** The time limit of `waitFor`. */
  readonly timeoutMs?: number;
}

/** A process in a terminal emulator. */
export interface Terminal {
  readonly pid: number;
  /** The lines of the screen, without trailing spaces. */
  screen(): string[];
  /** The scrollback and the screen. */
  everything(): string[];
  /** Resolves when the screen contains this text or matches; checks after every output. Rejects with the screen after the time limit. */
  waitFor(wanted: string | RegExp | ((screen: string[]) => boolean)): Promise<void>;
  type(text: string): void;
  press(...keys: readonly Key[]): void;
  /** Sends a bracketed paste, in which line breaks are not Enter. */
  paste(text: string): void;
  resize(columns: number, rows: number): void;
  /** The position of the cursor, starting at 0. */
  cursor(): { readonly column: number; readonly row: number };
  /** Whether the alternate screen is in use. */
  isFullScreen(): boolean;
  /** All output as text, for effects that a screen does not show, such as modes that must be restored. */
  written(): string;
  kill(signal?: NodeJS.Signals): void;
  /** The exit, after the last output is on the screen. */
  readonly ended: Promise<{ readonly code: number; readonly signal: number }>;
}

/** Also `ctrl-x` and `alt-x` with any letter. */
export type Key = keyof typeof KEYS | `ctrl-${string}` | `alt-${string}`;

const KEYS = {
  enter: "\r",
  "shift-enter": "\x1b[13;2u",
  escape: "\x1b",
  tab: "\t",
  "shift-tab": "\x1b[Z",
  space: " ",
  backspace: "\x7f",
  delete: "\x1b[3~",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  "page-up": "\x1b[5~",
  "page-down": "\x1b[6~",
} as const;

/** Starts `postrider` with these arguments in a terminal. It is killed at the end of the test. */
export function startPostrider(args: readonly string[], options: TerminalOptions = {}): Terminal {
  return startTerminal([process.execPath, BIN, ...args], options);
}

export function startTerminal(command: readonly string[], options: TerminalOptions = {}): Terminal {
  const { columns = 80, rows = 24, timeoutMs = 15_000 } = options;
  const [file = "", ...args] = command;
  const child = spawn(file, args, {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd: options.folder ?? process.cwd(),
    env: defined({
      ...process.env,
      TERM: "xterm-256color",
      NO_COLOR: undefined,
      CI: undefined,
      ...options.environment,
    }),
  });
  const display = new headless.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  const looks = new Set<() => void>();
  let raw = "";
  let unshown = 0;
  let exit: { code: number; signal: number } | undefined;
  let resolveEnded: (how: { code: number; signal: number }) => void = () => {};
  const ended = new Promise<{ code: number; signal: number }>((resolve) => {
    resolveEnded = resolve;
  });
  const settle = (): void => {
    for (const look of [...looks]) look();
    if (exit !== undefined && unshown === 0) resolveEnded(exit);
  };
  child.onData((data) => {
    raw += data;
    unshown += 1;
    display.write(data, () => {
      unshown -= 1;
      settle();
    });
  });
  child.onExit(({ exitCode, signal }) => {
    exit = { code: exitCode, signal: signal ?? 0 };
    settle();
  });
  // Answers queries of the process (cursor position, device attributes) like a real terminal.
  display.onData((reply) => exit === undefined && child.write(reply));

  const kill = (signal: NodeJS.Signals = "SIGKILL"): void => {
    if (exit === undefined) child.kill(signal);
  };
  onTestFinished(async () => {
    kill();
    await ended;
    display.dispose();
  });

  const lines = (from: number, to: number): string[] => {
    const { active } = display.buffer;
    return Array.from(
      { length: to - from },
      (_, at) => active.getLine(from + at)?.translateToString(true) ?? "",
    );
  };
  const screen = (): string[] => {
    const { baseY } = display.buffer.active;
    return lines(baseY, baseY + display.rows);
  };
  const write = (text: string): void => {
    if (exit !== undefined) throw new Error(`the process ended with code ${exit.code}:\n${framed(screen())}`);
    child.write(text);
  };
  return {
    pid: child.pid,
    screen,
    everything: () => lines(0, display.buffer.active.length),
    waitFor(wanted) {
      const fits = predicate(wanted);
      return new Promise((resolve, reject) => {
        const done = (): void => {
          looks.delete(look);
          clearTimeout(timer);
        };
        const fail = (why: string): void => {
          done();
          reject(new Error(`${why}: ${String(wanted)}\n${framed(screen())}`));
        };
        const look = (): void => {
          if (fits(screen())) {
            done();
            resolve();
          } else if (exit !== undefined && unshown === 0)
            fail(`the process ended with code ${exit.code} without this`);
        };
        const timer = setTimeout(() => fail(`not on the screen after ${timeoutMs} ms`), timeoutMs);
        looks.add(look);
        look();
      });
    },
    type: write,
    press: (...keys) => write(keys.map(bytesOf).join("")),
    paste: (text) => write(`\x1b[200~${text}\x1b[201~`),
    resize(newColumns, newRows) {
      display.resize(newColumns, newRows);
      child.resize(newColumns, newRows);
    },
    cursor: () => ({ column: display.buffer.active.cursorX, row: display.buffer.active.cursorY }),
    isFullScreen: () => display.buffer.active.type === "alternate",
    written: () => raw,
    kill,
    ended,
  };
}

/** Omits absent variables, because the system would pass the text "undefined". */
function defined(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const present = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return Object.fromEntries(present);
}

function predicate(wanted: string | RegExp | ((screen: string[]) => boolean)): (screen: string[]) => boolean {
  if (typeof wanted === "function") return wanted;
  if (typeof wanted === "string") return (screen) => screen.join("\n").includes(wanted);
  return (screen) => wanted.test(screen.join("\n"));
}

function bytesOf(key: Key): string {
  if (key in KEYS) return KEYS[key as keyof typeof KEYS];
  const [, modifier, letter] = /^(ctrl|alt)-(.)$/.exec(key) ?? [];
  if (letter === undefined) throw new Error(`no such key: ${key}`);
  return modifier === "alt"
    ? `\x1b${letter}`
    : String.fromCharCode(letter.toLowerCase().charCodeAt(0) & 0x1f);
}

function framed(screen: readonly string[]): string {
  return screen.map((line) => `| ${line}`).join("\n");
}
