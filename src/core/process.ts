import type { Source } from "./source.ts";

/** How much of what a process prints is kept, in characters: the last of it. */
export const KEPT_OUTPUT = 200_000;
/** So many run at once in one home. */
export const MAX_PROCESSES = 64;
/** How long one that has ended is still among those that are listed, from its end. */
export const LISTED_AFTER_END_MS: number = 30 * 60_000;
/** Its row and its output are kept longer. */
export const OUTPUT_KEPT_MS: number = 7 * 86_400_000;
/** Nobody is told of a process more often than this. */
export const MIN_REPORT_INTERVAL_MS = 30_000;

/** What the chat that started a process is told of it: everything, its end, its end if it failed, or nothing. */
export type WatchMode = "all" | "result" | "error" | "off";

export const WATCH_MODES: readonly WatchMode[] = ["all", "result", "error", "off"];

/** When somebody is told of a process. Fixed at its start. */
export interface Watch {
  readonly mode: WatchMode;
  /** Told so often of what it has printed since; never, unless said. */
  readonly everyMs?: number;
  /** Told at once of a line that holds one of these. */
  readonly patterns: readonly string[];
  /** Its end is told to the agent, which answers in the session that started it. */
  readonly wakes: boolean;
}

/** A program to be run for a session. */
export interface NewProcess {
  /** `proc_` and 12 hexadecimal digits. */
  readonly id: string;
  /** As a shell takes it. */
  readonly command: string;
  readonly cwd: string;
  /** Whether the agent goes on while it runs. Else a tool waits for its end, and it keeps no session from resetting. */
  readonly background: boolean;
  /** Whether it has a terminal of its own; else pipes. */
  readonly pty: boolean;
  readonly watch: Watch;
  /** It is killed so long after its start, also when nobody waits for it any more. */
  readonly timeoutMs?: number;
}

/** How a process ended, as the kernel says; `unknown` when whoever could have asked was gone by then, or it never ran. */
export type Exit =
  | { readonly code: number }
  | { readonly signal: string }
  | { readonly unknown: true; readonly neverRan?: true };

export type ProcessState =
  /** It is to run, and nobody has said yet that it does. */
  | { readonly state: "starting" }
  | {
      readonly state: "running";
      readonly pid: number;
      /** When it started, as the kernel says: a pid that came back is another process. */
      readonly startTime: string;
      /** The runner that looks after it. */
      readonly keeper: string;
      /** Its keeper was killed and its files are gone: it runs, but its output and its exit code cannot be seen any more. */
      readonly detached: boolean;
    }
  | { readonly state: "ended"; readonly at: number; readonly exit: Exit };

/** A program that runs for a session, or has. */
export interface Process extends NewProcess {
  readonly session: string;
  readonly conversation: number;
  /** Where it was started; whoever is told of it is told there. */
  readonly target: Source;
  readonly begunAt: number;
  /** What was written to it since its last finished line. Not there where that is not known. */
  readonly unfinishedInput?: string;
  readonly status: ProcessState;
  /** How many characters it has printed so far, kept or not. */
  readonly total: number;
  /** The keeper's own mark of how far it has stored what was printed; the next keeper goes on from there. */
  readonly readTo?: string;
  /** Lines that a pattern was found in, and how many there were in all. */
  readonly matches: WatchMatches;
  readonly reported: ReportedState;
}

export interface WatchMatches {
  readonly count: number;
  /** The newest, oldest first. */
  readonly lines: readonly string[];
}

/** What the chat has been told of a process. */
export interface ReportedState {
  /** Of its output, up to this character. */
  readonly upTo: number;
  readonly at: number;
  readonly matches: number;
  readonly end: boolean;
  /** The delivery of the one message that is edited while it runs. */
  readonly progress?: number;
}

/** A part of what a process has printed. */
export interface ProcessOutput {
  readonly text: string;
  /** The place of its first character in all that was printed. */
  readonly from: number;
  readonly total: number;
}

/** The chat is told so much more of a process. */
export interface ProcessReport {
  readonly process: string;
  /** What had been told before, so that nothing is told twice. */
  readonly before: { readonly upTo: number; readonly matches: number; readonly end: boolean };
  readonly upTo: number;
  readonly matches: number;
  readonly end: boolean;
  /** Whether the delivery that tells it is the one message that is edited while it runs. */
  readonly isProgress?: boolean;
}

export function isProcessId(text: string): boolean {
  return /^proc_[0-9a-f]{12}$/.test(text);
}

/** From six bytes of chance. */
export function processIdFrom(bytes: Uint8Array): string {
  return `proc_${Array.from(bytes.subarray(0, 6), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
