import { constants } from "node:os";

export type ShutdownSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface ShutdownSignalOptions {
  /** An orderly shutdown has this long; then the process exits. */
  readonly limitMs: number;
  /** The signals to listen to; default: all of them. */
  readonly signals?: readonly ShutdownSignal[];
  /** False: only the time limit cuts a shutdown short. */
  readonly repeatForces?: boolean;
}

/** Service managers and wrappers such as npm both signal a process: within this time that is one request. */
const SAME_REQUEST_MS = 500;

/**
 * The first signal starts an orderly shutdown; a second one, or the time limit, forces the exit with 128 + the signal's
 * number. Until this is called, and after the returned function is, the system's default applies: the signal kills.
 */
export function onShutdownSignals(
  end: (signal: ShutdownSignal) => void,
  options: ShutdownSignalOptions,
): () => void {
  const { limitMs, signals = ["SIGINT", "SIGTERM", "SIGHUP"], repeatForces = true } = options;
  let since: number | undefined;
  const hear = (name: NodeJS.Signals): void => {
    const signal = name as ShutdownSignal;
    const exit = (): never => process.exit(toSignalExitCode(signal));
    if (since === undefined) {
      since = performance.now();
      setTimeout(exit, limitMs).unref();
      end(signal);
    } else if (repeatForces && isSecondRequest(signal, performance.now() - since)) exit();
  };
  for (const signal of signals) process.on(signal, hear);
  return () => {
    for (const signal of signals) process.off(signal, hear);
  };
}

export function toSignalExitCode(signal: ShutdownSignal): number {
  return 128 + constants.signals[signal];
}

/** A terminal that closes may send SIGHUP twice, through the kernel and the shell. */
function isSecondRequest(signal: ShutdownSignal, ms: number): boolean {
  if (signal === "SIGINT") return true;
  return signal === "SIGTERM" && ms >= SAME_REQUEST_MS;
}
