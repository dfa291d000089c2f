import type { Exit } from "../core/process.ts";
import type { Place } from "./born.ts";
import type { TerminalSize } from "./processes.ts";

/** Where programs run: on this machine, or behind this seam elsewhere. */
export interface Backend {
  /** Resolves when the program is there, and waits for `begin`. */
  start(spec: ProgramSpec, seen: ProgramEvents): Promise<Running>;
  isAlive(place: Place): boolean;
  /**
   * It and all that it has started are asked to end, and after the grace made to. Resolves when the kernel says that nobody
   * of them is left; throws when somebody is. A process that has the pid by now and is another is left alone.
   */
  end(place: Place, graceMs: number): Promise<void>;
}

export interface ProgramSpec {
  /** As a shell takes it. */
  readonly command: string;
  readonly cwd: string;
  readonly pty: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

export interface ProgramEvents {
  printed(text: string): void;
  /** Once, after its last output. */
  ended(exit: Exit): void;
}

/** A program that has been started by us. */
export interface Running extends Place {
  /** Whether it has a terminal; false where one was asked for and there is none to be had. */
  readonly pty: boolean;
  /** Lets it run. If we are gone before this is called, it ends without having done anything. */
  begin(): void;
  /** Throws with `busy` when too much waits that it does not read. */
  write(text: string): void;
  endInput(): void;
  /** Throws with `invalid_input` when it has no terminal. */
  resize(size: TerminalSize): void;
  /** Resolves when nobody holds its output open any more, which what it left behind may do after its end. */
  readonly released: Promise<void>;
}
