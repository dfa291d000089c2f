import { statSync } from "node:fs";
import { PostriderError } from "../core/errors.ts";
import { isRefused, unrefused } from "../core/refusal.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { Backend, Running } from "./backend.ts";
import type { Place } from "./born.ts";
import { outputWriter } from "./output-writer.ts";
import type { Request, StartRequest } from "./protocol.ts";

/** The longest that a timer can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;

export interface KeptProgramsOptions {
  readonly store: Store;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly log: Log;
  readonly keeper: string;
  readonly graceMs: number;
  /** There is one more, or one less. */
  changed(): void;
}

/** The programs that a keeper looks after. */
export interface KeptPrograms {
  count(): number;
  handle(request: Request): Promise<void>;
  /**
   * Takes over what another has left: it lives on, seen only from outside, or it has ended and nobody knows how. What is
   * ours and has no row any more, because its person was erased or whoever asked for it gave up, is ended.
   */
  adopt(): Promise<void>;
  /** Whether those that are seen only from outside are still there. */
  look(): Promise<void>;
  endAll(): Promise<void>;
}

/** One that we have started. */
interface Attended {
  readonly running: Running;
  /** Its row says how it ended. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
}

export function keptPrograms(options: KeptProgramsOptions): KeptPrograms {
  const { store, backend, clock, log, keeper, graceMs, changed } = options;
  const starting = new Map<string, Promise<void>>();
  const attended = new Map<string, Attended>();
  const detached = new Map<string, Place>();

  /** One after the other: to make a process stops the loop for some milliseconds, and sixty of them at once for long. */
  let turn: Promise<unknown> = Promise.resolve();
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  }

  /** Asked twice, it starts once: whoever asks again has not heard the answer. */
  async function start(request: StartRequest): Promise<void> {
    const id = request.process;
    const underWay = starting.get(id);
    if (underWay !== undefined) return underWay;
    const begun = begin(request).finally(() => {
      starting.delete(id);
      changed();
    });
    starting.set(id, begun);
    return begun;
  }

  async function begin(request: StartRequest): Promise<void> {
    const id = request.process;
    const row = await store.process({ asker: { everyone: true }, id });
    if (row === undefined) throw notFound(id);
    if (row.status.state !== "starting") return;
    checkFolder(request.cwd);
    const ended = Promise.withResolvers<void>();
    const writer = outputWriter({
      ...options,
      id,
      secrets: request.secrets,
      patterns: request.patterns,
      refused(why) {
        log.warn({ process: id, why: why.reason }, "a process has no row any more, so it is ended");
        endSoon(id);
      },
    });
    let timeout: NodeJS.Timeout | undefined;
    let isOver = false;
    const running = await inTurn(() =>
      backend.start(request, {
        printed: writer.printed,
        ended(exit) {
          clearTimeout(timeout);
          isOver = true;
          void writer.end(exit).then(() => ended.resolve());
        },
      }),
    );
    attended.set(id, { running, ended: ended.promise, hasEnded: () => isOver });
    void Promise.all([ended.promise, running.released]).then(() => {
      attended.delete(id);
      changed();
    });
    try {
      const { pid, born, pty } = running;
      unrefused(await store.processRuns({ id, keeper, pid, born, pty, now: clock.now() }));
    } catch (error) {
      await backend.end(running, 0);
      throw error;
    }
    writer.begin();
    running.begin();
    if (request.timeoutMs === undefined || isOver) return;
    timeout = setTimeout(
      () => {
        log.info({ process: id }, "a process has had its time and is ended");
        endSoon(id);
      },
      Math.min(request.timeoutMs, LONGEST_TIMER),
    );
  }

  async function end(id: string): Promise<void> {
    await starting.get(id)?.catch(() => {});
    const program = attended.get(id);
    if (program !== undefined) {
      await backend.end(program.running, graceMs);
      return program.ended;
    }
    const place = detached.get(id);
    if (place === undefined) {
      if ((await store.process({ asker: { everyone: true }, id })) === undefined) throw notFound(id);
      return;
    }
    if (backend.isAlive(place)) await backend.end(place, graceMs);
    await endUnseen(id);
  }

  function endSoon(id: string): void {
    void end(id).catch((error) => log.error({ process: id, error }, "a process cannot be ended"));
  }

  async function endUnseen(id: string): Promise<void> {
    const ended = await store.endProcess({ id, exit: { unknown: true }, now: clock.now() });
    if (isRefused(ended)) log.warn({ process: id, why: ended.reason }, "the end of a process was refused");
    detached.delete(id);
    changed();
  }

  function attendedNow(id: string): Running {
    const program = attended.get(id);
    if (program !== undefined && !program.hasEnded()) return program.running;
    const why = detached.has(id)
      ? "is detached: whoever started it is gone, and its input with them"
      : "has ended";
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
      else running.resize(request.size);
    },
    async adopt() {
      const ours = [...attended].filter(([id, { hasEnded }]) => !hasEnded() && !starting.has(id));
      const open = await store.adoptProcesses({ keeper, now: clock.now() });
      for (const { id, status } of open) {
        if (status.state !== "running" || attended.has(id) || starting.has(id) || detached.has(id)) continue;
        detached.set(id, { pid: status.pid, born: status.born });
        log.info({ process: id, pid: status.pid }, "a process of a keeper that is gone was found");
      }
      const known = new Set(open.map(({ id }) => id));
      for (const [id, { hasEnded }] of ours) if (!known.has(id) && !hasEnded()) endSoon(id);
      changed();
      await look();
    },
    look,
    async endAll() {
      const all = [...starting.keys(), ...attended.keys(), ...detached.keys()];
      const ended = await Promise.allSettled(all.map(end));
      for (const one of ended)
        if (one.status === "rejected") log.error({ error: one.reason }, "a process cannot be ended");
    },
  };

  async function look(): Promise<void> {
    for (const [id, place] of [...detached]) if (!backend.isAlive(place)) await endUnseen(id);
  }
}

function checkFolder(cwd: string): void {
  if (statSync(cwd, { throwIfNoEntry: false })?.isDirectory() !== true) throw noFolder(cwd);
}

export function noFolder(cwd: string): PostriderError {
  return new PostriderError("not_found", `There is no folder ${cwd} to run it in.`);
}

export function notFound(id: string): PostriderError {
  return new PostriderError("not_found", `There is no process ${id}.`);
}
