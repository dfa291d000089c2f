import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

interface FifoRequest {
  readonly paths: readonly string[];
  resolve(): void;
  reject(error: unknown): void;
}

/** So many starts share one `mkfifo`. */
const MOST_TOGETHER = 64;
const requests: FifoRequest[] = [];
let isMaking = false;

/** Makes named pipes. Starts that come at once share a process, because each costs the loop some milliseconds. */
export function makeFifos(paths: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    requests.push({ paths, resolve, reject });
    if (!isMaking) void makeAll();
  });
}

async function makeAll(): Promise<void> {
  isMaking = true;
  while (requests.length > 0) {
    const batch = requests.splice(0, MOST_TOGETHER);
    try {
      await mkfifo(batch.flatMap(({ paths }) => paths));
      for (const { resolve } of batch) resolve();
    } catch {
      await Promise.all(batch.map(makeAlone));
    }
  }
  isMaking = false;
}

/** One start's failure must not be another's: each is made again, and learns its own reason. */
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
