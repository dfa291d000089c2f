import type { Exit } from "../core/process.ts";
import type { ProcessInstance } from "../system/process-identity.ts";
import type { OutputPosition } from "./output-reader.ts";
import type { TerminalSize } from "./processes.ts";

/** Where programs run: on this machine, or behind this seam elsewhere. */
export interface Backend {
  /** Resolves when the program is there, and waits for `begin`. */
  start(spec: ProcessSpec, seen: ProcessEvents): Promise<RunningProcess>;
  /** The processes that a keeper before this one has started, and that `attach` may find. */
  listAttachable(): readonly string[];
  /** Goes on with one of them from this place in its output; `undefined` when nothing of it is there any more. */
  attach(spec: AttachSpec, seen: ProcessEvents): RunningProcess | undefined;
  /** Removes the files of a process that nobody attends. */
  removeFiles(id: string): void;
  isAlive(place: ProcessInstance): boolean;
  /**
   * It and all that it has started are asked to end, and after the grace made to. Resolves when the kernel says that nobody
   * of them is left; throws when somebody is. A process that has the pid by now and is another is left alone.
   */
  terminate(program: ManagedProcess, graceMs: number): Promise<void>;
}

/** Which process of a session is meant, and which of the machine. */
export interface ManagedProcess extends ProcessInstance {
  readonly id: string;
}

export interface ProcessSpec {
  readonly id: string;
  /** As a shell takes it. */
  readonly command: string;
  readonly cwd: string;
  readonly pty: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** Kept for the keeper after this one, in memory only. */
  readonly secrets: readonly string[];
}

export interface AttachSpec extends ManagedProcess {
  readonly pty: boolean;
  /** Up to here its output is stored. */
  readonly from: OutputPosition;
}

export interface ProcessEvents {
  /** More output, and how many bytes of it there were so far, counted from where the reading began. */
  onOutput(text: string, upTo: number): void;
  /** Once, after its last output. `at` is when it ended, where that is known to be earlier than now. */
  onEnd(exit: Exit, at?: number): void;
}

/** A program that has been started by us, or by a keeper before us. */
export interface RunningProcess extends ManagedProcess {
  /** Whether it has a terminal; false where one was asked for and there is none to be had. */
  readonly pty: boolean;
  /** What is to be taken out of its output; `undefined` when that is not known any more. */
  readonly secrets: readonly string[] | undefined;
  /** Lets it run. If we are gone before this is called, it ends without having done anything. */
  begin(): void;
  /** Throws with `busy` when too much waits that it does not read, `closed` when its input was ended. */
  write(text: string): void;
  endInput(): void;
  /** Throws with `invalid_input` when it has no terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** The place of a byte of its output, to go on from. */
  getPosition(byte: number): OutputPosition;
  /** All before this place is stored. */
  release(place: OutputPosition): void;
  /** Its row says how it ended: nothing of it is needed any more. */
  close(): void;
}
