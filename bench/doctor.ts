import { statSync } from "node:fs";
import { openReader } from "../src/stores/sqlite/connection.ts";
import { sqliteStore } from "../src/stores/sqlite/store.ts";
import { type CheckDepth, checkDatabase } from "../src/stores/sqlite/upkeep/check-database.ts";
import { fillDatabase } from "./fill-database.ts";
import type { Report } from "./goals.ts";
import { median, rounds } from "./measure.ts";
import { newFile } from "./subjects.ts";

const took = async (work: () => unknown): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

/** A large database looked through, against reading its messages once; and searched before it is indexed. */
export async function doctor(
  report: Report,
  size: { readonly rounds: number; readonly quick: boolean },
): Promise<void> {
  const messages = size.quick ? 50_000 : 500_000;
  report.heading(`Doctor and search with ${messages} messages`);
  const [file, fresh] = [newFile(), newFile()];
  fillDatabase({ file, messages });
  fillDatabase({ file: fresh, messages, indexed: false });
  const look = (depth: CheckDepth) => () => took(() => checkDatabase(file, { depth, now: Date.now() }));
  const scanned = () =>
    took(() => {
      const db = openReader(file);
      for (const _ of db.each("select * from messages"));
      db.close();
    });
  const store = await sqliteStore({ file: fresh, mode: "in-process" });
  const searched = () => took(() => store.messages.searchMessages({ asker: { everyone: true }, text: "w7" }));
  const results = await rounds(size.rounds, {
    scan: scanned,
    quick: look("quick"),
    usual: look("usual"),
    search: searched,
  });
  await store.close();
  const scan = median(results.scan);
  const line = (name: string, times: readonly number[]): string[] => [
    name,
    `${(median(times) / 1000).toFixed(2)} s`,
    `${(median(times) / scan).toFixed(2)}×`,
  ];
  report.table(
    ["", "time", "x reading every message once"],
    [
      line("every message once", results.scan),
      line("doctor --quick", results.quick),
      line("doctor", results.usual),
      line("search, nothing indexed", results.search),
    ],
  );
  report.note(`\nThe file has ${(statSync(file).size / 1e6).toFixed(0)} MB.`);
  report.goal("doctor, x reading every message once", median(results.usual) / scan, { atMost: 8 });
  report.goal("doctor --quick, x reading every message once", median(results.quick) / scan, { atMost: 0.25 });
  report.goal("search before indexing, s", median(results.search) / 1000, { atMost: 2 });
}
