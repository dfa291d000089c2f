import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { setTimeout as after } from "node:timers/promises";
import { type Process, processIdFrom } from "../src/core/process.ts";
import {
  buildRouting,
  DEFAULT_RESET,
  localRunner,
  localSource,
  type Store,
  sqliteStore,
  systemClock,
  systemZone,
} from "../src/index.ts";
import { connectProcesses } from "../src/processes/client.ts";
import { runKeeper } from "../src/processes/keeper.ts";
import { localBackend } from "../src/processes/local-backend.ts";
import type { Processes, StartProcessInput } from "../src/processes/processes.ts";
import { terminalTool } from "../src/tools/terminal.ts";
import type { ToolContext } from "../src/tools/tool-context.ts";
import type { Report } from "./goals.ts";
import { median, quantile } from "./measure.ts";
import { newFile } from "./subjects.ts";

const MEGABYTE = 1_000_000;
const everyone = { everyone: true } as const;

/** A keeper in this very process, so that its loop and its memory are the ones measured; and what speaks to it. */
interface Scene {
  readonly store: Store;
  readonly processes: Processes;
  readonly hands: ToolContext;
  start(command: string): Promise<Process>;
  ended(id: string): Promise<Process>;
  close(): Promise<void>;
}

export async function processes(report: Report, { quick }: { readonly quick: boolean }): Promise<void> {
  const scene = await openScene();
  try {
    await much(report, scene, quick ? 20 : 100);
    await many(report, scene);
    await overhead(report, scene, quick ? 20 : 100);
  } finally {
    await scene.close();
  }
}

async function much(report: Report, { start, ended, store }: Scene, megabytes: number): Promise<void> {
  report.heading(`A process that prints ${megabytes} MB`);
  const command = `head -c ${megabytes * MEGABYTE} /dev/zero | tr '\\0' x | fold -w 120`;
  const shortest = Math.min(await bare(command), await bare(command));
  await ended((await start("head -c 5000000 /dev/zero")).id); // compiled by now
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  const { id } = await start(command);
  const done = await ended(id);
  const ms = performance.now() - began;
  delay.disable();
  clearInterval(watch);
  const output = await store.processes.readProcessOutput({ asker: everyone, id });
  const all = megabytes * MEGABYTE + Math.floor((megabytes * MEGABYTE) / 120);
  const isRight = done.total === all && output?.text.length === 200_000;
  report.table(
    ["", "MB/s", "x bare pipe", "memory MB more", "loop p99 ms", "loop max ms"],
    [
      [
        "through the keeper",
        ((megabytes * 1000) / ms).toFixed(0),
        `${(shortest / ms).toFixed(2)}×`,
        ((most - before) / MEGABYTE).toFixed(0),
        (delay.percentile(99) / 1e6).toFixed(1),
        (delay.max / 1e6).toFixed(1),
      ],
    ],
  );
  report.note("");
  report.goal("everything counted, the last 200,000 characters kept", isRight ? 1 : 0, { atLeast: 1 });
  report.goal("x a bare pipe that is read and thrown away", shortest / ms, { atLeast: 0.7 });
  report.goal("memory, MB more than before", (most - before) / MEGABYTE, { atMost: 60 });
  report.goal("loop delay p99, ms", delay.percentile(99) / 1e6, { atMost: 20 });
}

async function many(report: Report, { start, ended }: Scene): Promise<void> {
  report.heading("64 processes at once");
  const command = "for i in $(seq 200); do echo line $i; done";
  const bareMs = await bareAtOnce(64, command);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const started = performance.now();
  const all = await Promise.all(Array.from({ length: 64 }, () => start(command)));
  const startMs = performance.now() - started;
  const done = await Promise.all(all.map(({ id }) => ended(id)));
  const ms = performance.now() - started;
  delay.disable();
  const isRight = done.every(({ status }) => status.state === "ended" && "code" in status.exit);
  report.table(
    ["", "all started ms", "all ended ms", "loop p99 ms"],
    [
      ["bare", "", bareMs.toFixed(0), ""],
      ["through the keeper", startMs.toFixed(0), ms.toFixed(0), (delay.percentile(99) / 1e6).toFixed(1)],
    ],
  );
  report.note("");
  report.goal("all ended with their code", isRight ? 1 : 0, { atLeast: 1 });
  report.goal("x bare, all of them", ms / bareMs, { atMost: 4 });
  report.goal("loop delay p99, ms", delay.percentile(99) / 1e6, { atMost: 20 });
}

async function overhead(report: Report, { hands }: Scene, calls: number): Promise<void> {
  report.heading("A command that a tool waits for");
  const tool = terminalTool(hands);
  const { signal } = new AbortController();
  const [floor, whole]: [number[], number[]] = [[], []];
  for (let n = -5; n < calls; n += 1) {
    const bareMs = await bare("true");
    const before = performance.now();
    await tool.run({ command: "true" }, { id: `call-${n}`, signal });
    if (n < 0) continue;
    floor.push(bareMs);
    whole.push(performance.now() - before);
  }
  const more = whole.map((ms, n) => ms - (floor[n] ?? 0));
  report.table(
    ["", "p50 ms", "p99 ms"],
    [
      ["bare shell", median(floor).toFixed(1), quantile(floor, 0.99).toFixed(1)],
      ["terminal tool", median(whole).toFixed(1), quantile(whole, 0.99).toFixed(1)],
    ],
  );
  report.note("");
  report.goal("ms more than a bare shell, median", median(more), { atMost: 30 });
}

/** The same command with a pipe that is read and thrown away, by nobody but this loop. */
async function bare(command: string): Promise<number> {
  const began = performance.now();
  const child = spawn("/bin/bash", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.resume();
  await once(child, "close");
  return performance.now() - began;
}

async function bareAtOnce(count: number, command: string): Promise<number> {
  const began = performance.now();
  await Promise.all(Array.from({ length: count }, () => bare(command)));
  return performance.now() - began;
}

async function openScene(): Promise<Scene> {
  const file = newFile();
  const folder = dirname(file);
  const store = await sqliteStore({ file, mode: "workers" });
  const keeperStore = await sqliteStore({ file, mode: "in-process" });
  const stop = new AbortController();
  const socket = `${folder}/keeper.sock`;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const keeper = runKeeper({
    store: keeperStore,
    runner: localRunner(),
    backend: localBackend({ folder: `${folder}/processes` }),
    clock: systemClock,
    socket,
    log,
    signal: stop.signal,
  });
  const client = connectProcesses({ store, clock: systemClock, socket, launch() {} });
  const source = localSource();
  const settings = {
    zone: systemZone(),
    profile: "main",
    reset: DEFAULT_RESET,
    scope: {},
    clock: systemClock,
  };
  const { session, conversation } = await store.conversations.open(buildRouting(source, settings));
  const environment = { PATH: process.env.PATH ?? "" };
  const place = { session: session.id, conversation: conversation.number, target: source };
  const hands: ToolContext = {
    ...place,
    store,
    clock: systemClock,
    processes: client,
    asker: { person: "owner" },
    role: "owner",
    owner: "owner",
    profile: "main",
    cwd: folder,
    allowedFolders: [folder],
    deniedFolders: [],
    environment,
    secrets: ["a-secret-that-is-nowhere"],
    timeoutMs: 60_000,
    watchMode: "off",
  };
  const ended = (id: string): Promise<Process> => until(store, id);
  return {
    store,
    processes: client,
    hands,
    start(command) {
      const input: StartProcessInput = {
        ...place,
        id: processIdFrom(systemClock.random(6)),
        command,
        cwd: folder,
        background: true,
        pty: false,
        watch: { mode: "off", patterns: [], wakes: false },
        environment,
        secrets: hands.secrets,
      };
      return client.start(input);
    },
    ended,
    async close() {
      await client.close();
      stop.abort();
      await keeper;
      await keeperStore.close();
      await store.close();
    },
  };
}

async function until(store: Store, id: string): Promise<Process> {
  for (;;) {
    const found = await store.processes.getProcess({ asker: everyone, id });
    if (found?.status.state === "ended") return found;
    await after(5);
  }
}
