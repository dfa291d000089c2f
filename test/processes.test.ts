import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSessions, OWNER, sqliteStore } from "../src/index.ts";
import { driveProcesses } from "./processes/drive.ts";
import { temporaryFolder } from "./support/folder.ts";
import { percentile } from "./support/numbers.ts";
import { schedule } from "./support/schedule.ts";

describe("four processes that write to one database", () => {
  it("get no lock error, lose and repeat nothing, and notify each other within 250 ms", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const file = join(folder.path, "postrider.db");
    const report = await driveProcesses({ file, processes: 4, seconds: schedule(3, 10) });
    const [p50, p95, max] = [0.5, 0.95, 1].map((share) => percentile(report.delays, share).toFixed(0));
    console.log(
      `operations ${report.operations}, messages that came to several processes ${report.contested}; ` +
        `seen elsewhere after ${p50} ms (p95 ${p95}, max ${max}; ${report.delays.length} times)`,
    );
    expect(report.errors).toEqual([]);
    expect(report.lost).toEqual([]);
    expect(report.doubled).toEqual([]);
    expect(report.operations).toBeGreaterThan(1000);
    expect(report.contested).toBeGreaterThan(100);
    expect(report.calls).toBeGreaterThan(10);
    // With other work on the machine, single writes are noticed later.
    expect(percentile(report.delays, schedule(0.95, 1))).toBeLessThanOrEqual(250);
  }, 60_000);
});

// Of the tools on most machines, only Python can take the required locks.
const hasPython = process.platform === "linux" && spawnSync("python3", ["--version"]).status === 0;
describe.each(["workers", "in-process"] as const)(
  "a process beside one that repairs the log (%s)",
  (mode) => {
    it.skipIf(!hasPython)("delays its reads and writes, and still receives changes", async () => {
      const folder = temporaryFolder();
      onTestFinished(() => folder.remove());
      const file = join(folder.path, "postrider.db");
      const store = await sqliteStore({ file, mode });
      onTestFinished(() => store.close());
      const who = { person: OWNER };
      const sessions = createSessions({ store });
      await sessions.create(who, { id: "talk" });
      await sessions.append(who, "talk", { role: "user", text: "before" });
      await sessions.search(who, "before");
      let heard = (): void => {};
      onTestFinished(store.onChange(() => heard()));

      const program = fileURLToPath(new URL("./processes/repair.py", import.meta.url));
      const repair = spawn("python3", [program, file], { stdio: ["pipe", "pipe", "inherit"] });
      onTestFinished(() => void repair.kill("SIGKILL"));
      await once(repair.stdout, "data");

      let answered = 0;
      const calls = [
        sessions.history(who, "talk"),
        sessions.messages(who, "talk"),
        sessions.search(who, "before"),
        sessions.list(who),
        sessions.find(who, "talk"),
      ] as const;
      for (const call of calls) {
        const count = (): void => {
          answered += 1;
        };
        call.then(count, count);
      }
      // Long enough for several checks of the listener.
      await new Promise((resolve) => setTimeout(resolve, 350));
      expect(answered).toBe(0);
      const append = sessions.append(who, "talk", { role: "user", text: "meanwhile" });
      const ended = once(repair, "exit");
      repair.stdin.end("go\n");
      const [history, messages, hits, page, found] = await Promise.all(calls);
      expect(history?.[0]).toMatchObject({ parts: [{ text: "before" }] });
      expect([messages, hits, page].map((list) => JSON.stringify(list).includes("before"))).toEqual([
        true,
        true,
        true,
      ]);
      expect(found).toMatchObject({ id: "talk" });
      expect(await append).toEqual([2]);
      await ended;

      // Another connection's write still reaches the listener.
      const other = await sqliteStore({ file, mode: "in-process" });
      onTestFinished(() => other.close());
      const change = new Promise<void>((resolve) => {
        heard = resolve;
      });
      await createSessions({ store: other }).append(who, "talk", { role: "user", text: "after" });
      await change;
      expect(await sessions.history(who, "talk")).toHaveLength(3);
    });
  },
);
