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

/** Of the last line that was stored, so much is looked at again for patterns. */
const LONGEST_LINE = 4096;

/** A start blocks the loop for some milliseconds and then waits for its shells; meanwhile others can start. */
const STARTS_AT_ONCE = 4;

export interface KeeperProcessesOptions {
  readonly store: Store;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly log: Log;
  readonly keeper: string;
  readonly graceMs: number;
  /** There is one more, or one less. */
  onChange(): void;
}

/** The programs that a keeper looks after. */
export interface KeeperProcesses {
  count(): number;
  handle(request: KeeperRequest): Promise<void>;
  /**
   * Takes over the processes of keepers that are gone: reads on where they stopped, or, where the files of a process are
   * gone too, only sees from outside whether it runs. Ends processes that have no row any more.
   */
  adopt(): Promise<void>;
  /** Whether those that are seen only from outside are still there. */
  checkDetached(): Promise<void>;
  endAll(): Promise<void>;
}

export function createKeeperProcesses(options: KeeperProcessesOptions): KeeperProcesses {
  const { store, backend, clock, log, keeper, graceMs, onChange } = options;
  const starting = new Map<string, Promise<void>>();
  const attended = new Map<string, SupervisedProcess>();
  const detached = new Map<string, ProcessInstance>();

  const inTurn = limitConcurrency(STARTS_AT_ONCE);

  /** Asked twice, it starts once: whoever asks again has not heard the answer. */
  async function start(request: StartRequest): Promise<void> {
    const id = request.process;
    const underWay = starting.get(id);
    if (underWay !== undefined) return underWay;
    const begun = begin(request).finally(() => {
      starting.delete(id);
      onChange();
    });
    starting.set(id, begun);
    return begun;
  }

  async function begin(request: StartRequest): Promise<void> {
    const id = request.process;
    const row = await store.processes.getProcess({ asker: { everyone: true }, id });
    if (row === undefined) throw createProcessNotFoundError(id);
    if (row.status.state !== "starting") return;
    checkFolder(request.cwd);
    const program = superviseProcess({ ...options, row, endInBackground: endSoon });
    const running = await inTurn(() => backend.start({ ...request, id }, program.events));
    const writer = program.attach(running);
    keep(id, program);
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
    program.setTimeLimit(request.timeoutMs);
  }

  function keep(id: string, program: SupervisedProcess): void {
    attended.set(id, program);
    void program.ended.then(() => {
      attended.delete(id);
      onChange();
    });
  }

  /** Goes on with one that a keeper before us has started; false when nothing of it is there to go on with. */
  async function attach(row: Process): Promise<boolean> {
    const { id, status } = row;
    if (status.state !== "running" || status.detached) return false;
    const { position, shown } = parseBookmark(row.readTo);
    const last = await store.processes.readProcessOutput({
      asker: { everyone: true },
      id,
      limit: LONGEST_LINE,
    });
    const line = last?.text.slice(last.text.lastIndexOf("\n") + 1) ?? "";
    const program = superviseProcess({ ...options, row, endInBackground: endSoon });
    const { pid, startTime } = status;
    const running = backend.attach({ id, pid, startTime, pty: row.pty, from: position }, program.events);
    if (running === undefined) return false;
    program.attach(running, { total: row.total, shown, line }).begin();
    keep(id, program);
    program.setTimeLimit(computeTimeLeft(row, clock.now()));
    return true;
  }

  async function end(id: string): Promise<void> {
    await starting.get(id)?.catch(() => {});
    const program = attended.get(id);
    if (program !== undefined) {
      await backend.terminate(program.getRunning(), graceMs);
      return program.ended;
    }
    const place = detached.get(id);
    if (place === undefined) {
      if ((await store.processes.getProcess({ asker: { everyone: true }, id })) === undefined)
        throw createProcessNotFoundError(id);
      return;
    }
    if (backend.isAlive(place)) await backend.terminate({ id, ...place }, graceMs);
    await endUnseen(id);
  }

  function endSoon(id: string): void {
    void end(id).catch((error) => log.error({ process: id, error }, "a process cannot be ended"));
  }

  async function endUnseen(id: string): Promise<void> {
    const ended = await store.processes.endProcess({ id, exit: { unknown: true }, now: clock.now() });
    if (isRefused(ended)) log.warn({ process: id, why: ended.reason }, "the end of a process was refused");
    detached.delete(id);
    onChange();
  }

  function attendedNow(id: string): RunningProcess {
    const program = attended.get(id);
    if (program !== undefined && !program.hasEnded()) return program.getRunning();
    const why = detached.has(id) ? "is detached: its input was lost with its keeper" : "has ended";
    throw new PostriderError("closed", `Process ${id} ${why}; nothing can be written to it.`);
  }

  return {
    count: () => starting.size + attended.size + detached.size,
    async handle(request) {
      const id = request.process;
      if (request.do === "start") return start(request);
      if (request.do === "kill") return end(id);
      if (request.do === "wait") return attended.get(id)?.ended;
      const running = attendedNow(id);
      if (request.do === "write") running.write(request.text);
      else if (request.do === "endInput") running.endInput();
      else await running.resize(request.size);
    },
    async adopt() {
      const ours = [...attended].filter(([id, { hasEnded }]) => !hasEnded() && !starting.has(id));
      const attachable = backend.listAttachable();
      const open = await store.processes.adoptProcesses({ keeper, attachable, now: clock.now() });
      for (const row of open) {
        const { id, status } = row;
        if (status.state !== "running" || attended.has(id) || starting.has(id) || detached.has(id)) continue;
        const isAttached = await attach(row);
        if (!isAttached) detached.set(id, { pid: status.pid, startTime: status.startTime });
        log.info({ process: id, pid: status.pid, isAttached }, "found a process of a keeper that is gone");
      }
      await forgetEnded(attachable);
      const known = new Set(open.map(({ id }) => id));
      for (const [id, { hasEnded }] of ours) if (!known.has(id) && !hasEnded()) endSoon(id);
      onChange();
      await look();
    },
    checkDetached: look,
    async endAll() {
      const all = [...starting.keys(), ...attended.keys(), ...detached.keys()];
      const ended = await Promise.allSettled(all.map(end));
      for (const one of ended)
        if (one.status === "rejected") log.error({ error: one.reason }, "a process cannot be ended");
    },
  };

  /** Files of processes that have ended, or have no row: their keeper was killed before it could remove them. */
  async function forgetEnded(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (attended.has(id) || starting.has(id)) continue;
      const row = await store.processes.getProcess({ asker: { everyone: true }, id });
      if (row === undefined || row.status.state === "ended") backend.removeFiles(id);
    }
  }

  async function look(): Promise<void> {
    for (const [id, place] of [...detached]) if (!backend.isAlive(place)) await endUnseen(id);
  }
}

/** Of its time-out. A clock that was set back gives it no more than the whole. */
function computeTimeLeft({ begunAt, timeoutMs }: Process, now: number): number | undefined {
  return timeoutMs === undefined ? undefined : Math.min(timeoutMs, Math.max(0, begunAt + timeoutMs - now));
}

function checkFolder(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) throw createMissingFolderError(cwd);
}

export function createMissingFolderError(cwd: string): PostriderError {
  return new PostriderError("not_found", `There is no folder ${cwd} to run it in.`);
}

export function createProcessNotFoundError(id: string): PostriderError {
  return new PostriderError("not_found", `There is no process ${id}.`);
}

/** Runs at most so many at once, in the order in which they were asked for. */
function limitConcurrency(most: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const queue: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => queue.push(resolve));
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
