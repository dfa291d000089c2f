import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

interface FifoRequest {
  readonly paths: readonly string[];
  resolve(): void;
  reject(error: unknown): void;
}

/** The maximum number of starts that share one `mkfifo`. */
const MAX_BATCH = 64;
const requests: FifoRequest[] = [];
let isMaking = false;

/**
 * Makes named pipes. Concurrent starts share one `mkfifo` process, because each spawn blocks the loop for milliseconds.
 */
export function makeFifos(paths: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    requests.push({ paths, resolve, reject });
    if (!isMaking) void makeAll();
  });
}

async function makeAll(): Promise<void> {
  isMaking = true;
  while (requests.length > 0) {
    const batch = requests.splice(0, MAX_BATCH);
    try {
      await mkfifo(batch.flatMap(({ paths }) => paths));
      for (const { resolve } of batch) resolve();
    } catch {
      await Promise.all(batch.map(makeAlone));
    }
  }
  isMaking = false;
}

/** After a failed batch, each start makes its own pipes and gets its own error. */
async function makeAlone({ paths, resolve, reject }: FifoRequest): Promise<void> {
  try {
    for (const path of paths) rmSync(path, { force: true });
    await mkfifo(paths);
    resolve();
  } catch (error) {
    reject(error);
  }
}

async function mkfifo(paths: readonly string[]): Promise<void> {
  await run("mkfifo", ["-m", "600", ...paths]);
}
