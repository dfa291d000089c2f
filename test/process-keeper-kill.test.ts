import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Process, processIdFrom } from "../src/core/process.ts";
import { systemClock, throwIfRefused } from "../src/index.ts";
import type { StartProcessInput } from "../src/processes/processes.ts";
import { isAlive, readStartTime } from "../src/system/process-identity.ts";
import { type Child, startChild } from "./support/child.ts";
import { type KeeperRoom, keeperRoom, pause } from "./support/keeper-room.ts";
import { schedule } from "./support/schedule.ts";

describe("a process whose gateway is killed", () => {
  it("keeps its further output and its real exit code, also after a second kill", async () => {
    const room = await keeperRoom();
    const programs: string[] = [];
    for (const round of [1, 2]) {
      const gateway = startGateway(room);
      await gateway.heard<{ ready?: true }>((line) => line.ready === true);
      const input = room.input(`echo before ${round}; read -r line; echo after $line; exit 4${round}`);
      gateway.tell(input);
      await gateway.heard<{ started?: string }>(({ started }) => started === input.id);
      programs.push(input.id);
      await room.until(input.id, (_, printed) => printed === `before ${round}\n`);
      gateway.process.kill("SIGKILL");
      await gateway.ended;
    }
    for (const [index, id] of programs.entries()) {
      expect((await room.row(id)).status).toMatchObject({ state: "running", detached: false });
      await room.client().write(id, "the crash\n");
      expect((await room.ended(id)).status).toMatchObject({ exit: { code: 41 + index } });
      expect(await room.printed(id)).toBe(`before ${index + 1}\nafter the crash\n`);
    }
  });
});

const PIPES = { pty: false, name: "pipes" };

describe.each(schedule([PIPES], [PIPES, { pty: true, name: "a terminal" }]))(
  "the keeper is killed during a process with $name",
  ({ pty }) => {
    const plain = (text: string): string => text.replaceAll("\r\n", "\n");
    const numbered = (count: number): string =>
      Array.from({ length: count }, (_, n) => `line ${n + 1}\n`).join("");
    /** Prints this many lines, one each hundredth of a second. */
    const print = (count: number): string =>
      `i=0; while [ $i -lt ${count} ]; do i=$((i + 1)); echo line $i; sleep 0.01; done`;

    it("that prints: it continues, every line is stored once, and its exit code is known", async () => {
      const room = await keeperRoom();
      const { id } = await room.start(`${print(200)}; exit 5`, { pty });
      for (const last of [20, 90]) {
        await room.until(id, (_, printed) => printed.includes(`line ${last}`));
        await room.killKeeper();
      }
      expect((await room.ended(id)).status).toMatchObject({ exit: { code: 5 } });
      expect(plain(await room.printed(id))).toBe(numbered(200));
      while (readdirSync(join(room.home.folder, "processes")).length > 0) await pause();
    });

    it("that reads: later input arrives, and so does the end of the input", async () => {
      const room = await keeperRoom();
      const { id } = await room.start('read -r a; echo "got $a"; cat; exit 6', { pty });
      await room.killKeeper();
      await room.processes.write(id, "one\n");
      await room.until(id, (row, printed) => !isDetached(row) && printed.includes("got one"));
      await room.killKeeper();
      await room.processes.write(id, "two\n");
      await room.processes.endInput(id);
      expect((await room.ended(id)).status).toMatchObject({ exit: { code: 6 } });
      expect(plain(await room.printed(id))).toBe(pty ? "one\ngot one\ntwo\ntwo\n" : "got one\ntwo\n");
    });

    it("that ends without a keeper: the next keeper stores its output, its exit and the time", async () => {
      const room = await keeperRoom();
      const { id, status } = await room.start(`read -r; ${print(50)}; kill -TERM $$`, { pty });
      await room.processes.write(id, "\n");
      await room.processes.close();
      await room.killKeeper();
      const ended = join(room.home.folder, "processes", id, "exit");
      while (!existsSync(ended)) await pause();
      const at = Math.round(statSync(ended).mtimeMs);
      while (isAlive(getIdentity({ status }))) await pause();
      await pause(1000);
      room.client();
      const row = await room.ended(id);
      expect(row.status).toMatchObject({ exit: { signal: "SIGTERM" }, at });
      expect(plain(await room.printed(id))).toBe(`${pty ? "\n" : ""}${numbered(50)}`);
    });

    it("that has a time-out, a secret and a pattern: the next keeper applies all three", async () => {
      const room = await keeperRoom();
      const secret = "hunter2-hunter2-hunter2";
      const input =
        'stty -echo 2>&-; echo before; printf "an ERR"; printf hunter2-hun; read -r; echo ter2-hunter2; echo OR; sleep 1000';
      const { id } = await room.start(input, {
        pty,
        secrets: [secret],
        timeoutMs: 8000,
        watch: { mode: "off", patterns: ["an ERRhun[secret]"], wakes: false },
      });
      // The prefix of a secret is shown if nothing follows.
      await room.until(id, (_, printed) => printed.endsWith("ERRhun"));
      await room.killKeeper();
      await room.processes.write(id, "\n");
      const { status, matches } = await room.ended(id);
      expect(status).toMatchObject({ exit: { signal: "SIGTERM" } });
      expect(plain(await room.printed(id))).toBe("before\nan ERRhun[secret]\nOR\n");
      expect(matches.count).toBe(1);
    }, 30_000);
  },
);

describe("the keeper is killed", () => {
  it("and the next keeper can resize a terminal", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("read -r; stty size", { pty: true });
    await room.killKeeper();
    await room.processes.resize(id, { rows: 50, columns: 90 });
    await room.processes.write(id, "\n");
    await room.ended(id);
    expect(await room.printed(id)).toContain("50 90");
  });

  it("and an input that was closed before stays closed", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("sleep 1; cat; exit 3");
    await room.processes.endInput(id);
    await room.killKeeper();
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 3 } });
  });

  it("and the files of its processes are lost: the next keeper marks running ones as detached, and stores their end", async () => {
    const room = await keeperRoom();
    const silent = await room.start("exec sleep 1000");
    const other = await room.start("sleep 1000");
    await room.processes.close();
    await room.killKeeper();
    rmSync(join(room.home.folder, "processes"), { recursive: true });
    const client = room.client();
    for (const kept of [silent, other]) {
      const { status } = await room.until(kept.id, isDetached);
      expect(status).toMatchObject({ state: "running", ...getIdentity(kept) });
      expect(isAlive(getIdentity(kept))).toBe(true);
    }
    await expect(client.write(silent.id, "x")).rejects.toMatchObject({
      code: "closed",
      message: expect.stringContaining("detached"),
    });
    process.kill(-getIdentity(silent).pid, "SIGKILL");
    expect((await room.ended(silent.id)).status).toMatchObject({ exit: { unknown: true } });

    const killed = await client.kill(other.id);
    expect(killed.status).toMatchObject({ state: "ended", exit: { unknown: true } });
    expect(isAlive(getIdentity(other))).toBe(false);
  });

  it("after it stored an end: the next keeper removes the files of that process", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("exit 2");
    await room.ended(id);
    await room.killKeeper();
    const left = join(room.home.folder, "processes", id);
    mkdirSync(left, { recursive: true }); // the keeper may have been killed before it removed the folder
    await room.ended((await room.start("true")).id);
    expect(existsSync(left)).toBe(false);
  });

  it("and the next keeper does not signal a pid that another process has now", async () => {
    const room = await keeperRoom();
    const stranger = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
    onTestFinished(() => void stranger.kill("SIGKILL"));
    const pid = stranger.pid ?? 0;
    const id = processIdFrom(systemClock.random(6));
    const { session, conversation, target, environment, secrets, ...row } = room.input("sleep 1000", { id });
    throwIfRefused(
      await room.store.processes.beginProcess({
        process: row,
        session,
        conversation,
        target,
        maxRunning: 64,
        now: Date.now(),
      }),
    );
    const startTime = `${readStartTime(pid)}0`;
    throwIfRefused(
      await room.store.processes.markProcessRunning({
        id,
        keeper: "one that is gone",
        pid,
        startTime,
        pty: false,
        now: Date.now(),
      }),
    );
    const killed = await room.processes.kill(id);
    expect(killed.status).toMatchObject({ state: "ended", exit: { unknown: true } });
    await pause(100);
    expect(stranger.exitCode).toBe(null);
    expect(isAlive({ pid, startTime: readStartTime(pid) ?? "" })).toBe(true);
  });

  it("during the start of a process, which runs at most once", async () => {
    const room = await keeperRoom();
    await room.start("true");
    for (let round = 0; round < 4; round += 1) {
      const file = join(room.home.folder, `ran-${round}`);
      const input = room.input(`echo run >> ${file}; sleep 0.3`);
      const starting = room.processes.start(input).then(
        () => true,
        () => false,
      );
      await pause(round * 5);
      await room.killKeeper();
      expect(await starting).toBe(true); // requested again from the next keeper
      await room.ended(input.id);
      expect(existsSync(file) ? readFileSync(file, "utf8") : "run\n").toBe("run\n");
    }
  });
});

describe("a keeper that gets SIGTERM", () => {
  it("ends its processes first, and stores their output and exit", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.05; done");
    await room.until(id, (_, printed) => printed.includes("on"));
    const pid = (await room.keeperPid()) ?? 0;
    const startTime = readStartTime(pid) ?? "";
    process.kill(pid, "SIGTERM");
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 5 } });
    expect(await room.printed(id)).toMatch(/^on\n(Terminated\n)?bye\n$/);
    while (isAlive({ pid, startTime })) await pause();
    expect(await room.keeperPid()).toBe(undefined);
  });
});

describe("gateways that start the keeper at the same time", () => {
  it("share one keeper", async () => {
    const room = await keeperRoom();
    const gateways = [1, 2, 3].map(() => startGateway(room));
    await Promise.all(gateways.map((one) => one.heard<{ ready?: true }>((line) => line.ready === true)));
    const inputs = gateways.map((gateway, index) => {
      // The grandparent: between them is the shell that records the exit.
      const input: StartProcessInput = room.input(`ps -o ppid= -p $PPID; exit ${index}`);
      gateway.tell(input);
      return input;
    });
    const parents = new Set<string>();
    for (const [index, { id }] of inputs.entries()) {
      await gateways[index]?.heard<{ started?: string }>(({ started }) => started === id);
      expect((await room.ended(id)).status).toMatchObject({ exit: { code: index } });
      parents.add((await room.printed(id)).trim());
    }
    expect([...parents]).toEqual([String(await room.keeperPid())]);
  });
});

function startGateway(room: KeeperRoom): Child {
  const child = startChild(new URL("./process-keeper/starter.ts", import.meta.url), [room.home.folder]);
  onTestFinished(() => void child.process.kill("SIGKILL"));
  return child;
}

function isDetached({ status }: Process): boolean {
  return status.state === "running" && status.detached;
}

function getIdentity({ status }: Pick<Process, "status">): {
  readonly pid: number;
  readonly startTime: string;
} {
  if (status.state !== "running") throw new Error("it does not run");
  return { pid: status.pid, startTime: status.startTime };
}
