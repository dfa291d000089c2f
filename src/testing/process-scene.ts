import assert from "node:assert/strict";
import type { NewProcess, Process, ProcessOutput, Watch } from "../core/process.ts";
import { unrefused } from "../core/refusal.ts";
import type { Source } from "../core/source.ts";
import type { BeginProcess } from "../ports/processes.ts";
import { ANN, EVERYONE, present, type Scene, T0 } from "./scene.ts";

export const QUIET: Watch = { mode: "off", patterns: [], wakes: false };
export const WATCHED: Watch = { mode: "result", patterns: [], wakes: false };

export type Place = Pick<BeginProcess, "session" | "conversation" | "target">;

export async function place(scene: Scene, target: Source = ANN): Promise<Place> {
  const { id } = await scene.talk(target, "hello", "hello");
  const [found] = await scene.store.conversations({ asker: EVERYONE, session: id });
  return { session: id, conversation: present(found).number, target };
}

export function program(more: Partial<NewProcess> = {}): NewProcess {
  return {
    id: idOf(1),
    command: "make all",
    cwd: "/tmp",
    background: true,
    pty: true,
    watch: WATCHED,
    ...more,
  };
}

export function idOf(index: number): string {
  return `proc_${index.toString(16).padStart(12, "0")}`;
}

export function begin(
  scene: Scene,
  at: Place,
  more: Partial<NewProcess> = {},
  { most = 64 }: { most?: number } = {},
): ReturnType<Scene["store"]["beginProcess"]> {
  return scene.store.beginProcess({ ...at, process: program(more), most, now: T0 });
}

export async function runs(
  scene: Scene,
  id: string,
  more: { keeper?: string; pty?: boolean } = {},
): Promise<Process> {
  const input = { id, keeper: "k1", pid: 7, born: "77", pty: true, now: T0, ...more };
  return unrefused(await scene.store.processRuns(input));
}

export async function running(scene: Scene): Promise<Process> {
  const { id } = unrefused(await begin(scene, await place(scene)));
  return runs(scene, id);
}

export async function keep(
  { store }: Scene,
  id: string,
  from: number,
  text: string,
  matched?: readonly string[],
): Promise<void> {
  const more = { id, keeper: "k1", from, text, ...(matched !== undefined && { matched }) };
  assert.deepEqual(unrefused(await store.keepOutput(more)), { kept: true });
}

export async function end(
  { store }: Scene,
  id: string,
  output?: { from: number; text: string; matched?: readonly string[] },
): Promise<void> {
  unrefused(
    await store.endProcess({ id, exit: { code: 0 }, now: T0, ...(output !== undefined && { output }) }),
  );
}

export function output(
  { store }: Scene,
  id: string,
  more: { from?: number; limit?: number } = {},
): Promise<ProcessOutput | undefined> {
  return store.processOutput({ asker: EVERYONE, id, ...more });
}
