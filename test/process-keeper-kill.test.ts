import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Process, processIdFrom } from "../src/core/process.ts";
import { systemClock, unrefused } from "../src/index.ts";
import { bornOf, isAlive } from "../src/processes/born.ts";
import type { StartProcess } from "../src/processes/processes.ts";
import { type Child, startChild } from "./support/child.ts";
import { type KeeperRoom, keeperRoom, pause } from "./support/keeper-room.ts";

describe("whoever started a program is killed", () => {
  it("and its further output and its real exit are seen, also a second time in a row", async () => {
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

describe("the keeper is killed", () => {
  it("and the next finds who lives, says detached, sees their end, and can be killed itself", async () => {
    const room = await keeperRoom();
    const silent = await room.start("sleep 1000");
    const other = await room.start("sleep 1000");
    const inTerminal = await room.start("sleep 1000", { pty: true });
    // It waits for the word to begin no longer: only what runs is left behind.
    await room.until(silent.id, ({ status }) => status.state === "running");
    for (const round of [1, 2]) {
      await room.killKeeper();
      // Whoever asks for anything brings a new one.
      const { id } = await room.start(`exit ${round}`);
      expect((await room.ended(id)).status).toMatchObject({ exit: { code: round } });
      for (const kept of [silent, other]) {
        const { status } = await room.row(kept.id);
        expect(status).toMatchObject({ state: "running", detached: true, ...placeOf(kept) });
        expect(isAlive(placeOf(kept))).toBe(true);
      }
      // The kernel has hung up on it: its terminal was the keeper's.
      expect((await room.ended(inTerminal.id)).status).toMatchObject({ exit: { unknown: true } });
    }
    await expect(room.processes.write(silent.id, "x")).rejects.toMatchObject({
      code: "closed",
      message: expect.stringContaining("detached"),
    });
    process.kill(placeOf(silent).pid, "SIGKILL");
    expect((await room.ended(silent.id)).status).toMatchObject({ exit: { unknown: true } });

    const killed = await room.processes.kill(other.id);
    expect(killed.status).toMatchObject({ state: "ended", exit: { unknown: true } });
    expect(isAlive(placeOf(other))).toBe(false);
  });

  it("and a pid that is somebody else's by now is neither believed nor signalled", async () => {
    const room = await keeperRoom();
    const stranger = spawn("sleep", ["1000"], { detached: true, stdio: "ignore" });
    onTestFinished(() => void stranger.kill("SIGKILL"));
    const pid = stranger.pid ?? 0;
    const id = processIdFrom(systemClock.random(6));
    const { session, conversation, target, environment, secrets, ...row } = room.input("sleep 1000", { id });
    unrefused(
      await room.store.beginProcess({
        process: row,
        session,
        conversation,
        target,
        most: 64,
        now: Date.now(),
      }),
    );
    const born = `${bornOf(pid)}0`;
    unrefused(
      await room.store.processRuns({
        id,
        keeper: "one that is gone",
        pid,
        born,
        pty: false,
        now: Date.now(),
      }),
    );
    const killed = await room.processes.kill(id);
    expect(killed.status).toMatchObject({ state: "ended", exit: { unknown: true } });
    await pause(100);
    expect(stranger.exitCode).toBe(null);
    expect(isAlive({ pid, born: bornOf(pid) ?? "" })).toBe(true);
  });

  it("while a program is on its way, and that program runs once or not at all", async () => {
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
      expect(await starting).toBe(true); // asked again, of the next keeper
      await room.ended(input.id);
      expect(existsSync(file) ? readFileSync(file, "utf8") : "run\n").toBe("run\n");
    }
  });
});

describe("the keeper is told to end", () => {
  it("and ends what it looks after first, with everything in its row", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("trap 'echo bye; exit 5' TERM; echo on; while :; do sleep 0.05; done");
    await room.until(id, (_, printed) => printed.includes("on"));
    const pid = (await room.keeperPid()) ?? 0;
    const born = bornOf(pid) ?? "";
    process.kill(pid, "SIGTERM");
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 5 } });
    expect(await room.printed(id)).toMatch(/^on\n(Terminated\n)?bye\n$/);
    while (isAlive({ pid, born })) await pause();
    expect(await room.keeperPid()).toBe(undefined);
  });
});

describe("two who start the keeper at the same moment", () => {
  it("get one", async () => {
    const room = await keeperRoom();
    const gateways = [1, 2, 3].map(() => startGateway(room));
    await Promise.all(gateways.map((one) => one.heard<{ ready?: true }>((line) => line.ready === true)));
    const inputs = gateways.map((gateway, index) => {
      const input: StartProcess = room.input(`echo $PPID; exit ${index}`);
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

function placeOf({ status }: Process): { readonly pid: number; readonly born: string } {
  if (status.state !== "running") throw new Error("it does not run");
  return { pid: status.pid, born: status.born };
}
