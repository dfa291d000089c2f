import type { Source } from "./source.ts";

/** The number of characters of a process's output that are kept: the last ones. */
export const KEPT_OUTPUT = 200_000;
/** The maximum number of running processes in one home. */
export const MAX_PROCESSES = 64;
/** How long lists still contain a process after its end. */
export const LISTED_AFTER_END_MS: number = 30 * 60_000;
/** How long its row and its output are kept after its end. */
export const OUTPUT_KEPT_MS: number = 7 * 86_400_000;
/** The minimum interval between two reports about a process. */
export const MIN_REPORT_INTERVAL_MS = 30_000;

/** The reports in the chat that started a process: all, only its end, only its end if it failed, or none. */
export type WatchMode = "all" | "result" | "error" | "off";

export const WATCH_MODES: readonly WatchMode[] = ["all", "result", "error", "off"];

/** When reports about a process are sent. Fixed at its start. */
export interface Watch {
  readonly mode: WatchMode;
  /** The interval of reports with new output. Absent: none. */
  readonly everyMs?: number;
  /** A line that contains one of these texts is reported at once. */
  readonly patterns: readonly string[];
  /** The end of the process starts a turn of the agent in the session that started it. */
  readonly wakes: boolean;
}

/** A command to run for a session. */
export interface NewProcess {
  /** `proc_` and 12 hexadecimal digits. */
  readonly id: string;
  /** The command line for a shell. */
  readonly command: string;
  readonly cwd: string;
  /** Whether the agent continues while it runs. Otherwise a tool waits for its end, and it does not prevent a reset. */
  readonly background: boolean;
  /** Whether it runs in a pseudo-terminal; otherwise with pipes. */
  readonly pty: boolean;
  readonly watch: Watch;
  /** It is killed this long after its start, also if no tool waits for it any more. */
  readonly timeoutMs?: number;
}

/** The exit that the kernel reported. `unknown` if its keeper had ended by then, or if the command never ran. */
export type Exit =
  | { readonly code: number }
  | { readonly signal: string }
  | { readonly unknown: true; readonly neverRan?: true };

export type ProcessState =
  /** Stored, but not yet reported as running. */
  | { readonly state: "starting" }
  | {
      readonly state: "running";
      readonly pid: number;
      /** The start time that the kernel reports. Distinguishes it from a later process with the same pid. */
      readonly startTime: string;
      /** The runner that supervises it. */
      readonly keeper: string;
      /** Its keeper was killed and its files are missing: it runs, but its output and exit code are not available. */
      readonly detached: boolean;
    }
  | { readonly state: "ended"; readonly at: number; readonly exit: Exit };

/** A running or ended process of a session. */
export interface Process extends NewProcess {
  readonly session: string;
  readonly conversation: number;
  /** The chat that started it and receives the reports. */
  readonly target: Source;
  readonly begunAt: number;
  /** Input since its last complete line. Absent if unknown. */
  readonly unfinishedInput?: string;
  readonly status: ProcessState;
  /** The number of characters printed so far, kept or not. */
  readonly total: number;
  /** The keeper's position up to which output is stored. The next keeper continues there. */
  readonly readTo?: string;
  /** Lines that matched a pattern. */
  readonly matches: WatchMatches;
  readonly reported: ReportedState;
}

export interface WatchMatches {
  readonly count: number;
  /** The newest matches, in order. */
  readonly lines: readonly string[];
}

/** The part of a process that was reported in the chat. */
export interface ReportedState {
  /** Output up to this character was reported. */
  readonly upTo: number;
  readonly at: number;
  readonly matches: number;
  readonly end: boolean;
  /** The delivery of the progress message, which is edited while the process runs. */
  readonly progress?: number;
}

/** A part of the output of a process. */
export interface ProcessOutput {
  readonly text: string;
  /** The offset of its first character in the whole output. */
  readonly from: number;
  readonly total: number;
}

/** A report about a process, for its chat. */
export interface ProcessReport {
  readonly process: string;
  /** The state before this report, so that nothing is reported twice. */
  readonly before: { readonly upTo: number; readonly matches: number; readonly end: boolean };
  readonly upTo: number;
  readonly matches: number;
  readonly end: boolean;
  /** Whether the delivery is the progress message, which is edited while the process runs. */
  readonly isProgress?: boolean;
}

export function isProcessId(text: string): boolean {
  return /^proc_[0-9a-f]{12}$/.test(text);
}

/** Uses the first six of the random bytes. */
export function processIdFrom(bytes: Uint8Array): string {
  return `proc_${Array.from(bytes.subarray(0, 6), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
