import assert from "node:assert/strict";
import type { NewProcess, Process, ProcessOutput, Watch } from "../core/process.ts";
import { throwIfRefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { BeginProcess } from "../ports/process-store.ts";
import { ANN, EVERYONE, requireValue, type Scene, T0 } from "./scene.ts";

export const UNWATCHED: Watch = { mode: "off", patterns: [], wakes: false };
export const WATCHED: Watch = { mode: "result", patterns: [], wakes: false };

export type ProcessOrigin = Pick<BeginProcess, "session" | "conversation" | "target">;

export async function createProcessOrigin(scene: Scene, target: Source = ANN): Promise<ProcessOrigin> {
  const { id } = await scene.talk(target, "hello", "hello");
  const [found] = await scene.store.conversations.findConversations({ asker: EVERYONE, session: id });
  return { session: id, conversation: requireValue(found).number, target };
}

export function buildProcess(more: Partial<NewProcess> = {}): NewProcess {
  return {
    id: buildProcessId(1),
    command: "make all",
    cwd: "/tmp",
    background: true,
    pty: true,
    watch: WATCHED,
    ...more,
  };
}

export function buildProcessId(index: number): string {
  return `proc_${index.toString(16).padStart(12, "0")}`;
}

export function beginTestProcess(
  scene: Scene,
  at: ProcessOrigin,
  more: Partial<NewProcess> = {},
  { most = 64 }: { most?: number } = {},
): ReturnType<Scene["store"]["processes"]["beginProcess"]> {
  return scene.store.processes.beginProcess({
    ...at,
    process: buildProcess(more),
    maxRunning: most,
    now: T0,
  });
}

export async function markTestProcessRunning(
  scene: Scene,
  id: string,
  more: { keeper?: string; pty?: boolean } = {},
): Promise<Process> {
  const input = { id, keeper: "k1", pid: 7, startTime: "77", pty: true, now: T0, ...more };
  return throwIfRefused(await scene.store.processes.markProcessRunning(input));
}

export async function startTestProcess(scene: Scene): Promise<Process> {
  const { id } = throwIfRefused(await beginTestProcess(scene, await createProcessOrigin(scene)));
  return markTestProcessRunning(scene, id);
}

export async function appendTestOutput(
  { store }: Scene,
  id: string,
  from: number,
  text: string,
  matched?: readonly string[],
): Promise<void> {
  const more = { id, keeper: "k1", from, text, ...(matched !== undefined && { matched }) };
  assert.deepEqual(throwIfRefused(await store.processes.appendProcessOutput(more)), { kept: true });
}

export async function endTestProcess(
  { store }: Scene,
  id: string,
  output?: { from: number; text: string; matched?: readonly string[] },
): Promise<void> {
  throwIfRefused(
    await store.processes.endProcess({
      id,
      exit: { code: 0 },
      now: T0,
      ...(output !== undefined && { output }),
    }),
  );
}

export function readTestOutput(
  { store }: Scene,
  id: string,
  more: { from?: number; limit?: number } = {},
): Promise<ProcessOutput | undefined> {
  return store.processes.readProcessOutput({ asker: EVERYONE, id, ...more });
}
