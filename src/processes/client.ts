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

/** A busy machine needs a while to start a keeper. */
const KEEPER_TIMEOUT_MS = 20_000;
/** A new keeper that does not answer has met one that was about to exit. */
const RELAUNCH_MS = 3000;
const POLL_MS = 25;
/** The delay before the next attempt to start a keeper, while a process runs. */
const KEEPER_RETRY_MS = 30_000;

export interface ConnectProcessesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** The socket that the keeper listens on. */
  readonly socket: string;
  /** Starts a keeper that outlives this process. A second keeper exits by itself. */
  launch(): void;
  /** The maximum number of processes that run at once in this home. */
  readonly maxRunning?: number;
  /** How long to wait for a keeper. */
  readonly keeperTimeoutMs?: number;
}

/**
 * The processes of a home, through its keeper. The client starts a keeper when it is needed: to start a process, and to
 * supervise processes whose keeper is gone. It checks for that on connection and whenever the keeper exits.
 */
export function connectProcesses(options: ConnectProcessesOptions): Processes {
  const { store, clock, socket, maxRunning = MAX_PROCESSES, keeperTimeoutMs = KEEPER_TIMEOUT_MS } = options;
  const closing = new AbortController();
  const pending = new Set<Promise<void>>();
  /** Of all pending requests, one launches the keeper. */
  let launchedAt = Number.NEGATIVE_INFINITY;

  /** Retries until a keeper answers; `once` for a request that must not take effect twice. */
  function sendRequest(message: KeeperRequest, { once = false } = {}): Promise<void> {
    checkRequest(message);
    const answered = retryUntilAnswered(message, once);
    pending.add(answered);
    return answered.finally(() => pending.delete(answered));
  }

  async function retryUntilAnswered(request: KeeperRequest, once: boolean): Promise<void> {
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
      await pause(POLL_MS);
    }
  }

  function launch(): void {
    const now = performance.now();
    if (now - launchedAt < RELAUNCH_MS) return;
    launchedAt = now;
    options.launch();
  }

  /** While a process runs, a keeper must supervise it. */
  async function ensureKeeper(): Promise<void> {
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
        await after(POLL_MS, undefined, { ref: false, signal: closing.signal });
      }
      await after(POLL_MS, undefined, { ref: false, signal: closing.signal });
    }
  }

  let ensuring: Promise<void> | undefined;
  function ensureKeeperInBackground(): void {
    if (closing.signal.aborted) return;
    ensuring ??= ensureKeeper()
      .catch(() => {}) // the store is busy or closed
      .finally(() => {
        ensuring = undefined;
      });
  }
  ensureKeeperInBackground();
  const timer = setInterval(ensureKeeperInBackground, KEEPER_RETRY_MS);
  timer.unref();

  async function getRow(id: string): Promise<Process> {
    const found = await store.processes.getProcess({ asker: { everyone: true }, id });
    if (found === undefined) throw createProcessNotFoundError(id);
    return found;
  }

  /** Throws if the process cannot receive input. No keeper has to start for that answer. */
  async function requireInput(id: string): Promise<void> {
    const { status } = await getRow(id);
    if (status.state === "ended") throw new PostriderError("closed", `Process ${id} has ended.`);
    if (status.state === "running" && status.detached)
      throw new PostriderError("closed", `Process ${id} is detached: its input was lost with its keeper.`);
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
          maxRunning: maxRunning,
          now: clock.now(),
        }),
      );
      try {
        await sendRequest(request);
      } catch (error) {
        // After close, the state of the process is unknown; otherwise it does not run and must not count.
        if (!closing.signal.aborted)
          await store.processes.endProcess({ id: input.id, exit: { unknown: true }, now: clock.now() });
        throw error;
      }
      ensureKeeperInBackground();
      return getRow(input.id);
    },
    async write(id, text) {
      await requireInput(id);
      await sendRequest({ do: "write", process: id, text }, { once: true });
    },
    async endInput(id) {
      await requireInput(id);
      await sendRequest({ do: "endInput", process: id });
    },
    async resize(id, size) {
      await requireInput(id);
      await sendRequest({ do: "resize", process: id, size });
    },
    async waitForEnd(id, signal) {
      const until = AbortSignal.any([closing.signal, signal]);
      await sendKeeperRequest(socket, { do: "wait", process: id }, until).catch(() => {}); // the caller reads the row
    },
    async kill(id) {
      const found = await getRow(id);
      if (found.status.state === "ended") return found;
      await sendRequest({ do: "kill", process: id });
      return getRow(id);
    },
    async close() {
      closing.abort();
      clearInterval(timer);
      await Promise.allSettled([...pending, ensuring]);
    },
  };
}

function buildStartRequest(input: StartProcessInput): KeeperRequest {
  const { id, command, cwd, pty, environment, secrets, watch, timeoutMs } = input;
  const spec = { command, cwd, pty, environment, secrets, patterns: watch.patterns };
  return { do: "start", process: id, ...spec, ...(timeoutMs !== undefined && { timeoutMs }) };
}

function createNoKeeperError(ms: number): PostriderError {
  return new PostriderError(
    "closed",
    `The process keeper did not answer within ${ms / 1000} s, so nothing was started or changed. See logs/keeper.log in Postrider's home.`,
  );
}

function createUnansweredInputError(): PostriderError {
  return new PostriderError(
    "closed",
    "The process keeper exited before it answered; it is unknown whether the process received the input.",
  );
}
