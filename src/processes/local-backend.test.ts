import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../../test/support/folder.ts";
import { type Exit, processIdFrom } from "../core/process.ts";
import { listProcStats, readProcStat } from "../system/proc-stat.ts";
import { systemClock } from "../system/system-clock.ts";
import type { RunningProcess } from "./backend.ts";
import { localBackend } from "./local-backend.ts";

const folder = temporaryFolder();
const backend = localBackend({ folder: join(folder.path, "processes") });
afterAll(() => folder.remove());

/** Runs a command without a keeper. */
async function run(command: string, pty: boolean) {
  const ended = Promise.withResolvers<Exit>();
  const printed: string[] = [];
  const id = processIdFrom(systemClock.random(6));
  const environment = { PATH: process.env.PATH ?? "", LANG: "C.UTF-8" };
  const running: RunningProcess = await backend.start(
    { id, command, cwd: tmpdir(), pty, environment, secrets: [] },
    { onOutput: (text) => void printed.push(text), onEnd: ended.resolve },
  );
  onTestFinished(async () => {
    await backend.terminate(running, 0);
    running.close();
  });
  return { running, ended: ended.promise, printed: () => printed.join("").replaceAll("\r\n", "\n") };
}

function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // it has exited
  }
}

describe.each([
  { pty: false, name: "pipes" },
  { pty: true, name: "a terminal" },
])("a command with $name", ({ pty }) => {
  it("leads its own session and group", async () => {
    const { running } = await run("sleep 100", pty);
    const { pid } = running;
    while (readProcStat(pid)?.session !== pid) await new Promise(setImmediate); // with a terminal, after a moment
    expect(readProcStat(pid)).toMatchObject({ pid, group: pid, session: pid });
    expect(backend.isAlive(running)).toBe(true);
    expect(backend.isAlive({ ...running, startTime: `${running.startTime}0` })).toBe(false);
    const another = { pid, startTime: `${running.startTime}0`, id: "proc_000000000000" };
    await backend.terminate(another, 0); // a reused pid: left alone
    expect(backend.isAlive(running)).toBe(true);
  });

  it("can be ended right after its start", async () => {
    for (let count = 0; count < 5; count += 1) {
      const { running, ended } = await run("sleep 100", pty);
      await backend.terminate(running, 5000);
      expect(backend.isAlive(running)).toBe(false);
      expect(await ended).toEqual({ signal: "SIGTERM" });
    }
  });

  it("does nothing before begin, even if begin is never called", async () => {
    const folder = temporaryFolder();
    onTestFinished(() => folder.remove());
    const files = ["one", "two"].map((name) => join(folder.path, name)) as [string, string];
    const [waiting, other] = await Promise.all(files.map((file) => run(`echo x > ${file}; echo done`, pty)));
    if (waiting === undefined || other === undefined) throw new Error("there are two");
    other.running.begin();
    expect(await other.ended).toEqual({ code: 0 });
    expect(other.printed()).toBe("done\n");
    // It started first and had the same time.
    await backend.terminate(waiting.running, 5000);
    await waiting.ended;
    expect([waiting.printed(), ...files.map((file) => existsSync(file))]).toEqual(["", false, true]);
  });

  it("leaves no shell if the keeper is killed before begin", async () => {
    const root = join(folder.path, `killed-${pty}`);
    const spec = { id: "proc_0123456789ab", command: "sleep 100", cwd: tmpdir(), pty, secrets: [] };
    const environment = { PATH: process.env.PATH ?? "" };
    const script = `
      const { localBackend } = await import(${JSON.stringify(new URL("local-backend.ts", import.meta.url))});
      setInterval(() => {}, 1000); // nothing else keeps it alive
      const events = { onOutput() {}, onEnd() {} };
      const spec = ${JSON.stringify({ ...spec, environment })};
      await localBackend({ folder: ${JSON.stringify(root)} }).start(spec, events);
      process.kill(process.pid, "SIGKILL");`;
    const { signal } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
    expect(signal).toBe("SIGKILL");
    const left = (): string[] =>
      listProcStats()
        .flatMap(({ pid }) => (readCommand(pid).includes(root) ? [pid] : []))
        .map(readCommand);
    await vi.waitFor(() => expect(left()).toEqual([]), 10_000);
  });

  it("reports whole characters and all of its last output", async () => {
    const { running, ended, printed } = await run("yes 'x é 🙂 漢' | head -n 40000; printf end", pty);
    running.begin();
    expect(await ended).toEqual({ code: 0 });
    expect(printed()).toBe(`${"x é 🙂 漢\n".repeat(40_000)}end`);
  });

  it("counts as ended although a child still holds its output", async () => {
    const { running, ended, printed } = await run("(trap '' HUP; sleep 100) & echo done", pty);
    running.begin();
    expect(await ended).toEqual({ code: 0 });
    expect(printed()).toBe("done\n");
  });
});

describe("a command with pipes only", () => {
  it("never runs if the keeper is gone before begin", async () => {
    const { running, printed } = await run("echo ran", false);
    running.close(); // as the kernel does when the keeper is killed
    while (backend.isAlive(running)) await new Promise(setImmediate);
    expect(printed()).toBe("");
  });

  it("throws busy for input while the command does not read", async () => {
    const { running } = await run("sleep 100", false);
    running.begin();
    const much = "x".repeat(500_000);
    expect(() => {
      for (let count = 0; count < 10; count += 1) running.write(much);
    }).toThrow(expect.objectContaining({ code: "busy" }));
  });
});
