import { statSync } from "node:fs";
import { PostriderError } from "../core/errors.ts";
import type { Process } from "../core/process.ts";
import { isRefused, throwIfRefused } from "../core/refusal.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { ProcessInstance } from "../system/process-identity.ts";
import type { Backend, RunningProcess } from "./backend.ts";
import { parseBookmark } from "./bookmark.ts";
import type { KeeperRequest, StartRequest } from "./protocol.ts";
import { type SupervisedProcess, superviseProcess } from "./supervised-process.ts";

/** The length of the last stored line that is searched for patterns again. */
const MAX_LINE = 4096;

/** A start blocks the event loop for some milliseconds and then waits for its shells; meanwhile others can start. */
const MAX_CONCURRENT_STARTS = 4;

export interface KeeperProcessesOptions {
  readonly store: Store;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly log: Log;
  readonly keeper: string;
  readonly graceMs: number;
  /** The number of processes has changed. */
  onChange(): void;
}

/** The processes that a keeper supervises. */
export interface KeeperProcesses {
  count(): number;
  handle(request: KeeperRequest): Promise<void>;
  /**
   * Takes over the processes of keepers that are gone: continues to read their output, or, if their files are gone too,
   * only checks from outside whether they run. Ends processes that have no row.
   */
  adopt(): Promise<void>;
  /** Ends the rows of detached processes that have exited. */
  checkDetached(): Promise<void>;
  endAll(): Promise<void>;
}

export function createKeeperProcesses(options: KeeperProcessesOptions): KeeperProcesses {
  const { store, backend, clock, log, keeper, graceMs, onChange } = options;
  const starting = new Map<string, Promise<void>>();
  const supervised = new Map<string, SupervisedProcess>();
  const detached = new Map<string, ProcessInstance>();

  const runLimited = limitConcurrency(MAX_CONCURRENT_STARTS);

  /** A repeated request starts the process once: the client has not received the first answer. */
  async function start(request: StartRequest): Promise<void> {
    const id = request.process;
    const current = starting.get(id);
    if (current !== undefined) return current;
    const started = startProcess(request).finally(() => {
      starting.delete(id);
      onChange();
    });
    starting.set(id, started);
    return started;
  }

  async function startProcess(request: StartRequest): Promise<void> {
    const id = request.process;
    const row = await store.processes.getProcess({ asker: { everyone: true }, id });
    if (row === undefined) throw createProcessNotFoundError(id);
    if (row.status.state !== "starting") return;
    checkFolder(request.cwd);
    const process = superviseProcess({ ...options, row, endInBackground });
    const running = await runLimited(() => backend.start({ ...request, id }, process.events));
    const writer = process.attach(running);
    addSupervised(id, process);
    try {
      const { pid, startTime, pty } = running;
      throwIfRefused(
        await store.processes.markProcessRunning({ id, keeper, pid, startTime, pty, now: clock.now() }),
      );
    } catch (error) {
      await backend.terminate(running, 0);
      throw error;
    }
    writer.begin();
    running.begin();
    process.setTimeLimit(request.timeoutMs);
  }

  function addSupervised(id: string, process: SupervisedProcess): void {
    supervised.set(id, process);
    void process.ended.then(() => {
      supervised.delete(id);
      onChange();
    });
  }

  /** Continues a process that an earlier keeper started; false if its files are gone. */
  async function attach(row: Process): Promise<boolean> {
    const { id, status } = row;
    if (status.state !== "running" || status.detached) return false;
    const { position, shown } = parseBookmark(row.readTo);
    const last = await store.processes.readProcessOutput({
      asker: { everyone: true },
      id,
      limit: MAX_LINE,
    });
    const line = last?.text.slice(last.text.lastIndexOf("\n") + 1) ?? "";
    const process = superviseProcess({ ...options, row, endInBackground });
    const { pid, startTime } = status;
    const running = backend.attach({ id, pid, startTime, pty: row.pty, from: position }, process.events);
    if (running === undefined) return false;
    process.attach(running, { total: row.total, shown, line }).begin();
    addSupervised(id, process);
    process.setTimeLimit(computeTimeLeft(row, clock.now()));
    return true;
  }

  async function end(id: string): Promise<void> {
    await starting.get(id)?.catch(() => {});
    const process = supervised.get(id);
    if (process !== undefined) {
      await backend.terminate(process.getRunning(), graceMs);
      return process.ended;
    }
    const instance = detached.get(id);
    if (instance === undefined) {
      if ((await store.processes.getProcess({ asker: { everyone: true }, id })) === undefined)
        throw createProcessNotFoundError(id);
      return;
    }
    if (backend.isAlive(instance)) await backend.terminate({ id, ...instance }, graceMs);
    await endDetached(id);
  }

  function endInBackground(id: string): void {
    void end(id).catch((error) => log.error({ process: id, error }, `ending process ${id} failed`));
  }

  async function endDetached(id: string): Promise<void> {
    const ended = await store.processes.endProcess({ id, exit: { unknown: true }, now: clock.now() });
    if (isRefused(ended))
      log.warn({ process: id, why: ended.reason }, `the store refused the end of process ${id}`);
    detached.delete(id);
    onChange();
  }

  function requireRunning(id: string): RunningProcess {
    const process = supervised.get(id);
    if (process !== undefined && !process.hasEnded()) return process.getRunning();
    const why = detached.has(id) ? "is detached: its input was lost with its keeper" : "has ended";
    throw new PostriderError("closed", `Process ${id} ${why}; nothing can be written to it.`);
  }

  return {
    count: () => starting.size + supervised.size + detached.size,
    async handle(request) {
      const id = request.process;
      if (request.do === "start") return start(request);
      if (request.do === "kill") return end(id);
      if (request.do === "wait") return supervised.get(id)?.ended;
      const running = requireRunning(id);
      if (request.do === "write") running.write(request.text);
      else if (request.do === "endInput") running.endInput();
      else await running.resize(request.size);
    },
    async adopt() {
      const own = [...supervised].filter(([id, { hasEnded }]) => !hasEnded() && !starting.has(id));
      const attachable = backend.listAttachable();
      const open = await store.processes.adoptProcesses({ keeper, attachable, now: clock.now() });
      for (const row of open) {
        const { id, status } = row;
        if (status.state !== "running" || supervised.has(id) || starting.has(id) || detached.has(id))
          continue;
        const isAttached = await attach(row);
        if (!isAttached) detached.set(id, { pid: status.pid, startTime: status.startTime });
        log.info(
          { process: id, pid: status.pid, isAttached },
          `took over process ${id} of a keeper that is gone`,
        );
      }
      await removeEndedFiles(attachable);
      const known = new Set(open.map(({ id }) => id));
      for (const [id, { hasEnded }] of own) if (!known.has(id) && !hasEnded()) endInBackground(id);
      onChange();
      await checkDetached();
    },
    checkDetached,
    async endAll() {
      const all = [...starting.keys(), ...supervised.keys(), ...detached.keys()];
      const ended = await Promise.allSettled(all.map(end));
      for (const result of ended)
        if (result.status === "rejected") log.error({ error: result.reason }, "ending a process failed");
    },
  };

  /** Removes files of processes that have ended or have no row: their keeper was killed before it removed them. */
  async function removeEndedFiles(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (supervised.has(id) || starting.has(id)) continue;
      const row = await store.processes.getProcess({ asker: { everyone: true }, id });
      if (row === undefined || row.status.state === "ended") backend.removeFiles(id);
    }
  }

  async function checkDetached(): Promise<void> {
    for (const [id, instance] of [...detached]) if (!backend.isAlive(instance)) await endDetached(id);
  }
}

/** The rest of the time-out. A clock that was set back does not extend the time-out. */
function computeTimeLeft({ begunAt, timeoutMs }: Process, now: number): number | undefined {
  return timeoutMs === undefined ? undefined : Math.min(timeoutMs, Math.max(0, begunAt + timeoutMs - now));
}

function checkFolder(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) throw createMissingFolderError(cwd);
}

export function createMissingFolderError(cwd: string): PostriderError {
  return new PostriderError("not_found", `There is no folder ${cwd} to run the command in.`);
}

export function createProcessNotFoundError(id: string): PostriderError {
  return new PostriderError("not_found", `There is no process ${id}.`);
}

/** Runs at most `max` at once, in the order of the calls. */
function limitConcurrency(max: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const queue: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= max) await new Promise<void>((resolve) => queue.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
