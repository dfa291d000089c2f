import { stat } from "node:fs/promises";
import { setTimeout as after } from "node:timers/promises";
import { PostriderError } from "../core/errors.ts";
import { isProcessId, MAX_PROCESSES, type Process } from "../core/process.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Clock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { pause } from "../system/pause.ts";
import { createMissingFolderError, createProcessNotFoundError } from "./keeper-processes.ts";
import type { Processes, StartProcessInput } from "./processes.ts";
import type { KeeperRequest } from "./protocol.ts";
import {
  checkRequest,
  createConnectionClosedError,
  sendKeeperRequest,
  UnansweredError,
} from "./send-keeper-request.ts";
import { waitUntilKeeperGone } from "./wait-until-keeper-gone.ts";

/** A machine that is busy needs a while to start a keeper. */
const KEEPER_TIMEOUT_MS = 20_000;
/** One that was started and does not answer has met another that was just ending. */
const LAUNCH_AGAIN_MS = 3000;
const LOOK_MS = 25;
/** A keeper that cannot be had is tried for again after this, while something runs. */
const KEEPER_RETRY_MS = 30_000;

export interface ConnectProcessesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Where the keeper listens. */
  readonly socket: string;
  /** Starts a keeper that outlives us. One too many ends by itself. */
  launch(): void;
  /** So many may run at once in this home. */
  readonly most?: number;
  /** How long a keeper is waited for. */
  readonly keeperTimeoutMs?: number;
}

/**
 * The programs of a home, through its keeper, which is started when it is needed: to start one, and to look after those
 * whose keeper is gone. Who is connected sees to that, from the beginning and whenever the keeper ends.
 */
export function connectProcesses(options: ConnectProcessesOptions): Processes {
  const { store, clock, socket, most = MAX_PROCESSES, keeperTimeoutMs = KEEPER_TIMEOUT_MS } = options;
  const closing = new AbortController();
  const waiting = new Set<Promise<void>>();
  /** Of all that wait for a keeper, one starts it. */
  let launchedAt = Number.NEGATIVE_INFINITY;

  /** Asked again when nobody has answered; `once` for what must not happen twice. */
  function told(request: KeeperRequest, { once = false } = {}): Promise<void> {
    checkRequest(request);
    const asked = askUntilAnswered(request, once);
    waiting.add(asked);
    return asked.finally(() => waiting.delete(asked));
  }

  async function askUntilAnswered(request: KeeperRequest, once: boolean): Promise<void> {
    const until = performance.now() + keeperTimeoutMs;
    for (;;) {
      try {
        await sendKeeperRequest(socket, request, closing.signal);
        launchedAt = Number.NEGATIVE_INFINITY;
        return;
      } catch (error) {
        if (!(error instanceof UnansweredError)) throw error;
        if (once && error.isSent) throw createUnansweredInputError();
      }
      if (closing.signal.aborted) throw createConnectionClosedError();
      if (performance.now() > until) throw createNoKeeperError(keeperTimeoutMs);
      launch();
      await pause(LOOK_MS);
    }
  }

  function launch(): void {
    const now = performance.now();
    if (now - launchedAt < LAUNCH_AGAIN_MS) return;
    launchedAt = now;
    options.launch();
  }

  /** For as long as something runs, somebody looks after it. */
  async function attend(): Promise<void> {
    for (;;) {
      const open = await store.processes.listProcesses({
        asker: { everyone: true },
        foreground: true,
        limit: 1,
      });
      if (open.length === 0 || closing.signal.aborted) return;
      const until = performance.now() + keeperTimeoutMs;
      while (!(await waitUntilKeeperGone(socket, closing.signal))) {
        if (closing.signal.aborted || performance.now() > until) return;
        launch();
        await after(LOOK_MS, undefined, { ref: false, signal: closing.signal });
      }
      await after(LOOK_MS, undefined, { ref: false, signal: closing.signal });
    }
  }

  let attending: Promise<void> | undefined;
  function attended(): void {
    if (closing.signal.aborted) return;
    attending ??= attend()
      .catch(() => {}) // the store is busy, or closed by now
      .finally(() => {
        attending = undefined;
      });
  }
  attended();
  const rounds = setInterval(attended, KEEPER_RETRY_MS);
  rounds.unref();

  async function row(id: string): Promise<Process> {
    const found = await store.processes.getProcess({ asker: { everyone: true }, id });
    if (found === undefined) throw createProcessNotFoundError(id);
    return found;
  }

  /** What runs and can be spoken to: nobody needs to be started to say of anything else that it does not. */
  async function spokenTo(id: string): Promise<void> {
    const { status } = await row(id);
    if (status.state === "ended") throw new PostriderError("closed", `Process ${id} has ended.`);
    if (status.state === "running" && status.detached)
      throw new PostriderError(
        "closed",
        `Process ${id} is detached: its input is gone with whoever started it.`,
      );
  }

  return {
    async start(input) {
      if (closing.signal.aborted) throw createConnectionClosedError();
      if (!isProcessId(input.id))
        throw new PostriderError("invalid_input", "The id of a process is proc_ and 12 hexadecimal digits.");
      const request = buildStartRequest(input);
      checkRequest(request);
      const folder = await stat(input.cwd).catch(() => undefined);
      if (folder?.isDirectory() !== true) throw createMissingFolderError(input.cwd);
      const { environment, secrets, session, conversation, target, ...process } = input;
      throwIfRefused(
        await store.processes.beginProcess({
          process,
          session,
          conversation,
          target,
          maxRunning: most,
          now: clock.now(),
        }),
      );
      try {
        await told(request);
      } catch (error) {
        // Nothing is known of it if we are closed; else it does not run, and must not be counted.
        if (!closing.signal.aborted)
          await store.processes.endProcess({ id: input.id, exit: { unknown: true }, now: clock.now() });
        throw error;
      }
      attended();
      return row(input.id);
    },
    async write(id, text) {
      await spokenTo(id);
      await told({ do: "write", process: id, text }, { once: true });
    },
    async endInput(id) {
      await spokenTo(id);
      await told({ do: "endInput", process: id });
    },
    async resize(id, size) {
      await spokenTo(id);
      await told({ do: "resize", process: id, size });
    },
    async waitForEnd(id, signal) {
      const until = AbortSignal.any([closing.signal, signal]);
      await sendKeeperRequest(socket, { do: "wait", process: id }, until).catch(() => {}); // the row tells
    },
    async kill(id) {
      const found = await row(id);
      if (found.status.state === "ended") return found;
      await told({ do: "kill", process: id });
      return row(id);
    },
    async close() {
      closing.abort();
      clearInterval(rounds);
      await Promise.allSettled([...waiting, attending]);
    },
  };
}

function buildStartRequest(input: StartProcessInput): KeeperRequest {
  const { id, command, cwd, pty, environment, secrets, watch, timeoutMs } = input;
  const given = { command, cwd, pty, environment, secrets, patterns: watch.patterns };
  return { do: "start", process: id, ...given, ...(timeoutMs !== undefined && { timeoutMs }) };
}

function createNoKeeperError(ms: number): PostriderError {
  return new PostriderError(
    "closed",
    `The keeper of processes did not answer within ${ms / 1000} s, so nothing was started or changed. logs/keeper.log in Postrider's home says why.`,
  );
}

function createUnansweredInputError(): PostriderError {
  return new PostriderError(
    "closed",
    "The keeper of processes was gone before it answered; the process may have got the input or not.",
  );
}
