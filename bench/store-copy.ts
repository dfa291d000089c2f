/**
 * The speed of `postrider store copy`: a file with messages, copied to a PostgreSQL of its own and back.
 *   node bench/store-copy.ts [messages]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openCopySource, openCopyTarget } from "../src/apps/open-copy-end.ts";
import type { StoreAddress } from "../src/apps/open-store.ts";
import { type CopyStep, copyStore } from "../src/stores/copy/copy-store.ts";
import { startServer } from "../test/support/postgres-server.ts";
import { fillDatabase } from "./fill-database.ts";
import { findTemporaryFolder } from "./temporary-files.ts";

const messages = Number(process.argv[2] ?? 50_000);
const folder = mkdtempSync(join(findTemporaryFolder(), "postrider-copy-"));
// Not inside of the folder: the user of the server may not enter it.
const serverFolder = `${folder}-server`;
const server = await startServer({ folder: serverFolder, isDurable: true, owner: process.pid });
try {
  const files = ["first", "second", "third"].map((name) => join(folder, `${name}.db`));
  const [first, second, third] = files.map((file) => ({ kind: "sqlite", file: file ?? "" }) as const);
  const postgres = { kind: "postgres", url: server.url } as const;
  if (first === undefined || second === undefined || third === undefined) throw new Error("no files");
  fillDatabase({ file: first.file, messages });
  console.log(`${messages} messages, messages per second:`);
  await measure("SQLite to PostgreSQL", first, postgres);
  await measure("PostgreSQL to SQLite", postgres, second);
  await measure("SQLite to SQLite", first, third);
} finally {
  await server.stop("immediate");
  for (const it of [folder, serverFolder]) rmSync(it, { recursive: true, force: true });
}

async function measure(name: string, from: StoreAddress, to: StoreAddress): Promise<void> {
  const source = await openCopySource(from);
  const target = await openCopyTarget(to);
  const began = performance.now();
  const ends = new Map<CopyStep, number>();
  await copyStore({
    source,
    target,
    restart: false,
    now: Date.now,
    onProgress: (step) => ends.set(step, performance.now()),
  });
  const total = performance.now() - began;
  await target.close();
  await source.close();
  let last = began;
  const steps = [...ends].map(([step, end]) => {
    const took = end - last;
    last = end;
    return `${step} ${Math.round(messages / (took / 1000))}`;
  });
  console.log(`  ${name}: ${Math.round(messages / (total / 1000))} in all (${steps.join(", ")})`);
}
