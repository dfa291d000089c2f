import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import { median } from "./measure.ts";
import { folder } from "./subjects.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const RUNS = 21;
const AT_ONCE = 200;

export interface StartUp {
  readonly sessions: number;
  /** Medians in milliseconds. */
  readonly node: number;
  readonly list: number;
}

/** `postrider sessions list` from the built package, beside a Node that does nothing, from the second start on. */
export async function startUps(sizes: readonly number[]): Promise<readonly StartUp[]> {
  const program = builtPackage();
  const results: StartUp[] = [];
  for (const sessions of sizes) {
    const home = await homeWith(sessions);
    const [node, list]: [number[], number[]] = [[], []];
    // The first starts fill the compile cache.
    for (let run = -2; run < RUNS; run += 1) {
      const [nothing, listed] = [took(["-e", "0"], home), took([program, "sessions", "list"], home)];
      if (run < 0) continue;
      node.push(nothing);
      list.push(listed);
    }
    results.push({ sessions, node: median(node), list: median(list) });
  }
  return results;
}

let bin: string | undefined;
/** As people install it: built files, and no sources beside them. Gives back the program. */
export function builtPackage(): string {
  if (bin !== undefined) return bin;
  const built = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-b"], {
    cwd: ROOT,
  });
  if (built.status !== 0) throw new Error(`the package cannot be built:\n${built.stdout}`);
  const target = join(folder, "package");
  mkdirSync(target);
  for (const part of ["bin", "dist", "package.json"])
    cpSync(join(ROOT, part), join(target, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(target, "node_modules"));
  bin = join(target, "bin/postrider.mjs");
  return bin;
}

async function homeWith(sessions: number): Promise<string> {
  const home = join(folder, `home-${sessions}`);
  mkdirSync(home, { mode: 0o700 });
  const store = await sqliteStore({ file: join(home, "postrider.db"), mode: "in-process" });
  const library = createSessions({ store });
  const who = { person: OWNER };
  for (let at = 0; at < sessions; at += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, sessions - at) }, async (_, n) => {
      const { id } = await library.create(who, { title: `session ${at + n}` });
      await library.append(who, id, { role: "user", text: `What about ${at + n}?` });
    });
    await Promise.all(some);
  }
  await store.close();
  return home;
}

function took(args: readonly string[], home: string): number {
  const before = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, {
    env: { ...process.env, POSTRIDER_HOME: home },
  });
  const ms = performance.now() - before;
  if (status !== 0) throw new Error(`${args.join(" ")} failed: ${stderr}`);
  return ms;
}
