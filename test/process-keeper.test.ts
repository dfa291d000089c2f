import { readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { KEPT_OUTPUT } from "../src/core/process.ts";
import { buildChildEnvironment } from "../src/processes/child-environment.ts";
import { type KeeperRoom, keeperRoom, pause } from "./support/keeper-room.ts";

describe("a process of the keeper", () => {
  it("has its output in order and its exit code in its row", async () => {
    const room = await keeperRoom();
    const { id } = await room.start(
      "echo out; echo err >&2; echo again; echo to-file > /dev/stderr; cat /dev/stdin; exit 3",
    );
    await room.until(id, (_, printed) => printed.includes("to-file"));
    expect((await room.row(id)).status).toMatchObject({ state: "running", detached: false });
    await room.processes.write(id, "äöü 🙂\n");
    await room.processes.endInput(id);
    expect((await room.ended(id)).status).toMatchObject({ state: "ended", exit: { code: 3 } });
    expect(await room.printed(id)).toBe("out\nerr\nagain\nto-file\näöü 🙂\n");
    await expect(room.processes.write(id, "x")).rejects.toMatchObject({ code: "closed" });
    await expect(room.processes.write("proc_000000000000", "x")).rejects.toMatchObject({ code: "not_found" });
  });

  it("has the signal that ended it in its row", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("kill -SEGV $$");
    expect((await room.ended(id)).status).toMatchObject({ exit: { signal: "SIGSEGV" } });
    const inTerminal = await room.start("kill -USR1 $$", { pty: true });
    expect((await room.ended(inTerminal.id)).status).toMatchObject({ exit: { signal: "SIGUSR1" } });
  });

  it("can have a terminal that is resized and gets input lines", async () => {
    const room = await keeperRoom();
    const { id, pty } = await room.start(
      'stty size; read line; echo "got $line"; stty size; read -r; exit 7',
      {
        pty: true,
      },
    );
    expect(pty).toBe(true);
    await room.until(id, (_, printed) => printed.includes("30 120"));
    await room.processes.resize(id, { rows: 50, columns: 90 });
    await room.processes.write(id, "hello");
    await room.processes.write(id, "\r");
    await room.until(id, (_, printed) => /got hello\r\n50 90/.test(printed));
    await room.processes.endInput(id);
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 7 } });
  });

  it("does not start in a missing folder, and creates no row", async () => {
    const room = await keeperRoom();
    const cwd = join(room.home.folder, "nowhere");
    await expect(room.start("true", { cwd })).rejects.toMatchObject({ code: "not_found" });
    expect(await room.store.processes.listProcesses({ asker: { everyone: true }, foreground: true })).toEqual(
      [],
    );
  });

  it("gets only the given environment, and none of the keeper's", async () => {
    const room = await keeperRoom();
    const secret = { MY_API_KEY: "k", HOME: "/h", LANG: "C.UTF-8", PATH: process.env.PATH };
    const environment = buildChildEnvironment(secret);
    const { id } = await room.start("env | cut -d= -f1", { environment });
    await room.ended(id);
    const names = (await room.printed(id)).trim().split("\n");
    // The last four belong to the shell.
    const own = ["POSTRIDER_PROCESS", "PYTHONUNBUFFERED", "TERM"];
    const allowed = ["HOME", "LANG", "PATH", "POSTRIDER_RUN_BY_AGENT", ...own, "PWD", "OLDPWD", "SHLVL", "_"];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["HOME", "LANG", "PATH", "PYTHONUNBUFFERED", "TERM"]));
  });

  it("has its secrets masked in the output, also across chunks, and its environment is not stored", async () => {
    const room = await keeperRoom();
    const secret = "hunter2-hunter2-hunter2";
    const { id } = await room.start('echo "a $S b"; printf hunter2-hun; sleep 0.5; echo ter2-hunter2', {
      environment: { PATH: process.env.PATH ?? "", S: secret },
      secrets: [secret],
    });
    await room.ended(id);
    const printed = await room.printed(id);
    expect(printed).toBe("a [secret] b\nhun[secret]\n");
    for (const file of ["postrider.db", "postrider.db-wal", "logs/keeper.log"]) {
      const bytes = statSync(join(room.home.folder, file), { throwIfNoEntry: false });
      if (bytes !== undefined)
        expect(readFileSync(join(room.home.folder, file)).includes("hunter2-hunter2")).toBe(false);
    }
  });

  it("has the lines that match a pattern in its row", async () => {
    const room = await keeperRoom();
    const watch = { mode: "all", patterns: ["ERROR", "ready"], wakes: false } as const;
    const { id } = await room.start("echo fine; echo an ERROR here; printf 'rea'; printf 'dy'; cat", {
      watch,
    });
    const { matches } = await room.until(id, (row) => row.matches.count === 2);
    expect(matches.lines).toEqual(["an ERROR here", "ready"]);
  });

  it("can print a million lines: the last ones are kept, and the keeper's memory does not grow", async () => {
    const room = await keeperRoom();
    const { id: first } = await room.start("seq 1 20000");
    await room.ended(first);
    const before = await readRss(room);
    const { id } = await room.start("seq 1 1000000; printf end");
    const { total } = await room.ended(id);
    expect(total).toBe(6_888_896 + 3);
    const printed = await room.printed(id);
    expect(printed.length).toBe(KEPT_OUTPUT);
    let expected = "end";
    for (let n = 1_000_000; expected.length < KEPT_OUTPUT; n -= 1) expected = `${n}\n${expected}`;
    expect(printed).toBe(expected.slice(-KEPT_OUTPUT));
    expect((await readRss(room)) - before).toBeLessThan(60);
  });

  it("is ended at its time-out, even if nothing waits for it", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("trap '' HUP; sleep 100", { timeoutMs: 300 });
    expect((await room.ended(id)).status).toMatchObject({ exit: { signal: "SIGTERM" } });
  });

  it("is refused as the 65th with a message, until another one has ended", async () => {
    const room = await keeperRoom();
    const started = await Promise.all(
      Array.from({ length: 64 }, () => room.processes.start(room.input("read -r; exit 0"))),
    );
    await expect(room.start("true")).rejects.toMatchObject({
      code: "too_many",
      message: expect.stringContaining("64 processes run already"),
    });
    const [one] = started;
    await room.processes.write(one?.id ?? "", "\n");
    await room.ended(one?.id ?? "");
    const { id } = await room.start("exit 4");
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 4 } });
  });
});

describe("ending a process", () => {
  it("ends all its children, also those that ignore SIGTERM, before it reports the end", async () => {
    const room = await keeperRoom();
    // Background jobs of a shell with job control have their own process groups.
    const { id, status } = await room.start(
      `trap '' TERM
       (trap '' TERM HUP; while :; do sleep 100; done) & a=$!
       set -m; sleep 100 & b=$!
       nohup sleep 100 >/dev/null 2>&1 & c=$!
       echo pids $a $b $c .; while :; do sleep 100; done`,
    );
    await room.until(id, (_, printed) => printed.includes("."));
    const pids = [...(await room.printed(id)).matchAll(/\d+/g)].map(([pid]) => Number(pid));
    expect(pids.length).toBe(3);
    const began = performance.now();
    const killed = await room.processes.kill(id);
    expect(killed.status).toMatchObject({ state: "ended", exit: { signal: "SIGKILL" } });
    expect(performance.now() - began).toBeGreaterThan(4900);
    for (const pid of [...pids, getPid(status)]) expect(isRunning(pid)).toBe(false);
    expect(await room.processes.kill(id)).toEqual(killed);
  });

  it.each([
    ["created its own session", "setsid sleep 1000 & echo $!"],
    ["is a daemon without its parents", "(setsid sh -c 'sleep 1000 & echo $!' &); sleep 0.5"],
    ["cleared its environment", "env -i /usr/bin/setsid sleep 1000 & echo $!"],
    ["ignores SIGTERM there", "setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' &"],
  ])("ends a child that %s", async (_, command) => {
    const room = await keeperRoom();
    const { id } = await room.start(`${command}\nsleep 1000`);
    await room.until(id, (_row, printed) => /^\d+\n$/.test(printed));
    const pid = Number(await room.printed(id));
    onTestFinished(() => killIfRunning(pid));
    expect(isRunning(pid)).toBe(true);
    expect((await room.processes.kill(id)).status).toMatchObject({ state: "ended" });
    expect(isRunning(pid)).toBe(false);
  });

  it("by its time-out also ends a child with its own session", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("setsid sleep 1000 & echo $!; wait", { timeoutMs: 1500 });
    await room.ended(id);
    const pid = Number(await room.printed(id));
    onTestFinished(() => killIfRunning(pid));
    while (isRunning(pid)) await pause();
  });

  it("is quick if it handles SIGTERM, and reports the real exit code", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("trap 'echo bye; exit 9' TERM; echo on; while :; do sleep 0.05; done");
    await room.until(id, (_, printed) => printed.includes("on"));
    expect((await room.processes.kill(id)).status).toMatchObject({ exit: { code: 9 } });
    expect(await room.printed(id)).toMatch(/^on\n(Terminated\n)?bye\n$/);
  });

  it("does not affect a child of a process that has exited, and discards its output", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("(while :; do echo x; sleep 0.05; done) & echo started $!");
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 0 } });
    const pid = Number(/started (\d+)/.exec(await room.printed(id))?.[1]);
    onTestFinished(() => void process.kill(pid, "SIGKILL"));
    const { total } = await room.row(id);
    await pause(400);
    expect(isRunning(pid)).toBe(true);
    expect((await room.row(id)).total).toBe(total);
  });
});

describe("the keeper's socket", () => {
  it("is accessible only to its user", async () => {
    const room = await keeperRoom();
    await room.start("true");
    expect(statSync(room.socket).mode & 0o777).toBe(0o600);
    expect(statSync(join(room.home.folder, "logs", "keeper.log")).mode & 0o777).toBe(0o600);
  });

  it("replaces a stale one", async () => {
    const room = await keeperRoom();
    writeFileSync(room.socket, "");
    const { id } = await room.start("exit 2");
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 2 } });
  });

  it("closes connections with invalid data, and serves the others", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("cat");
    const nonsense = [
      "hello\n",
      "[1]\n",
      `${JSON.stringify({ id: 1, do: "fly", process: id })}\n`,
      `${JSON.stringify({ id: 1, do: "start", process: id, command: 5 })}\n`,
      `${JSON.stringify({ id: 1, do: "resize", process: id, size: { rows: -1, columns: 1e9 } })}\n`,
      "x".repeat(5 * 1024 * 1024),
      Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
    ];
    for (const text of nonsense) await waitForHangUp(room.socket, text);
    await room.processes.write(id, "still here\n");
    await room.processes.endInput(id);
    await room.ended(id);
    expect(await room.printed(id)).toBe("still here\n");
  });
});

function waitForHangUp(path: string, text: string | Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.resume().write(text);
  });
}

async function readRss(room: KeeperRoom): Promise<number> {
  const status = readFileSync(`/proc/${await room.keeperPid()}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

function getPid(status: { state: string; pid?: number }): number {
  return status.pid ?? 0;
}

function killIfRunning(pid: number): void {
  if (pid > 1 && isRunning(pid)) process.kill(pid, "SIGKILL");
}

function isRunning(pid: number): boolean {
  try {
    const state = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
    return state !== "Z";
  } catch {
    return false;
  }
}
