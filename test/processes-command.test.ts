import { chmodSync, statSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { KEPT_OUTPUT } from "../src/core/process.ts";
import { type Store, sqliteStore } from "../src/index.ts";
import { isAlive } from "../src/system/process-identity.ts";
import { cli, startCli } from "./support/cli.ts";
import { NOW, runCommand } from "./support/command.ts";
import { DAY, type Furnished, furnishedHome, HOUR } from "./support/furnished.ts";
import { gatewayScene } from "./support/gateway-program.ts";
import { keeperRoom } from "./support/keeper-room.ts";
import { processRow, type RowWanted } from "./support/process-rows.ts";

let home: Furnished;
beforeEach(async () => {
  home = await furnishedHome();
});

const [ONE, TWO, THREE] = ["proc_3f9a1c02b7de", "proc_3f77c0e4d1a9", "proc_aa00c0e4d1a9"] as const;

/** Rows of the session "holiday plans", without real processes. */
const withRows = (...rows: readonly Omit<RowWanted, "session">[]) =>
  home.fill(async ({ store }) => {
    for (const row of rows) await processRow(store, { session: home.plansId, ...row });
  });

/** A process of another person, in a Telegram group. */
const elsewhere = (id: string) =>
  home.fill(async ({ store }) => {
    const [session] = await store.sessions.find({ asker: { everyone: true }, text: home.group });
    if (session === undefined) throw new Error("there is no such session");
    const target = { platform: "telegram", chatType: "group", chatId: "-100", userId: "42" };
    await processRow(store, { id, session: session.id, command: "make", target, now: NOW - HOUR });
  });

describe("postrider processes", () => {
  it("lists running processes and those that ended within half an hour, newest first", async () => {
    await withRows(
      { id: ONE, command: "npm run dev\n  --port 1", now: NOW - 12 * 60_000 },
      { id: TWO, command: "make", now: NOW - 60_000, exit: { code: 2 } },
      { id: THREE, command: "old", now: NOW - HOUR, exit: { signal: "SIGTERM" } },
      { id: "proc_bb00c0e4d1a9", command: "ls", background: false, now: NOW },
    );
    const { code, out, err } = await home.run(["processes"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["PROCESS", "STATE", "COMMAND", "SESSION", "PLATFORM", "STARTED"],
      [TWO, "exit 2", "make", home.plans, "local", "1m ago"],
      [ONE, "running", "npm run dev --port 1", home.plans, "local", "12m ago"],
      [""],
    ]);
    expect((await home.run(["processes", "list"])).out).toBe(out);
  });

  it("lists processes of 7 days with --all, and foreground ones with --foreground", async () => {
    await withRows(
      { id: ONE, now: NOW - 6 * DAY, exit: { unknown: true } },
      { id: TWO, now: NOW - 8 * DAY, exit: { code: 0 } },
      { id: THREE, now: NOW, background: false },
    );
    expect((await home.run(["processes"])).err).toBe("No background process is running.\n");
    const { out } = await home.run(["processes", "--all"]);
    expect(out).toMatch(new RegExp(`^${ONE}  exit unknown`, "m"));
    expect(out).not.toContain(TWO);
    expect(out).not.toContain(THREE);
    expect((await home.run(["processes", "--foreground"])).out).toContain(THREE);
  });

  it("shows the owner's processes, and all with --everyone", async () => {
    await elsewhere(ONE);
    expect(await home.run(["processes"])).toMatchObject({ code: 0, out: "" });
    expect((await home.run(["processes", "--everyone"])).out).toContain(ONE);
    expect(await home.run(["processes", "log", ONE])).toMatchObject({ code: 3, out: "" });
    expect((await home.run(["processes", "log", ONE, "--everyone"])).err).toContain("has printed nothing");
  });

  it("lists the subcommands for an unknown one", async () => {
    const { code, err } = await home.run(["processes", "liszt"]);
    expect(code).toBe(2);
    expect(err).toContain("takes list, log, kill or write");
  });

  it("fits the width of the terminal", async () => {
    await withRows({ id: ONE, command: "x".repeat(300), now: NOW });
    const { out } = await home.run(["processes"], { columns: 60 });
    for (const line of out.split("\n")) expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(60);
  });
});

describe("a process's name", () => {
  it("is an id or a unique prefix, with or without proc_", async () => {
    await withRows({ id: ONE, printed: "one\n", now: NOW }, { id: TWO, printed: "two\n", now: NOW });
    for (const name of [ONE, "proc_3f9", "3f9a"])
      expect(await home.run(["processes", "log", name])).toMatchObject({ code: 0, out: "one\n" });
  });

  it.each(["3f", "proc_", "proc_3f"])("is ambiguous if several ids start with %s", async (name) => {
    await withRows({ id: ONE, command: "make", now: NOW }, { id: TWO, now: NOW, exit: { code: 0 } });
    const { code, err } = await home.run(["processes", "log", name]);
    expect(code).toBe(4);
    expect(err).toContain(`  ${ONE}  make\n`);
    expect(err).toContain(TWO);
  });

  it.each(["proc_000000000000", "../x", "%", ""])("is not found if it is %j", async (name) => {
    await withRows({ id: ONE, now: NOW });
    expect(await home.run(["processes", "log", name])).toMatchObject({ code: 3, out: "" });
    expect(await home.run(["processes", "kill", name])).toMatchObject({ code: 3, out: "" });
    expect(await home.run(["processes", "write", name, "x"])).toMatchObject({ code: 3, out: "" });
  });
});

describe("postrider processes log", () => {
  it.each([
    [1, "three\n"],
    [2, "\nthree\n"],
    [4, "one\ntwo\n\nthree\n"],
    [9, "one\ntwo\n\nthree\n"],
    [0, ""],
  ])("prints only the last lines with --tail %i", async (count, expected) => {
    await withRows({ id: ONE, printed: "one\ntwo\n\nthree\n", now: NOW });
    expect((await home.run(["processes", "log", ONE, "--tail", String(count)])).out).toBe(expected);
  });

  it("prints raw output to a pipe, and no control characters to a terminal", async () => {
    const printed = "\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07bell\x07\n10%\r100%\n";
    await withRows({ id: ONE, printed, now: NOW });
    expect((await home.run(["processes", "log", ONE])).out).toBe(printed);
    expect((await home.run(["processes", "log", ONE], { columns: 80 })).out).toBe("red\nbell\n100%\n");
  });

  it("reports how much of the start is not stored", async () => {
    await withRows({ id: ONE, printed: `${"x".repeat(KEPT_OUTPUT + 5)}`, now: NOW });
    const { out, err } = await home.run(["processes", "log", ONE]);
    expect(out).toBe("x".repeat(KEPT_OUTPUT));
    expect(err).toContain("5 earlier characters are not stored");
  });
});

describe("postrider processes log -f", () => {
  /** The home's store, as the keeper of the rows has it. */
  async function opened<Result>(work: (store: Store) => Promise<Result>): Promise<Result> {
    const store = await sqliteStore({ file: home.database, mode: "in-process" });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  it("prints new output once and in order, and ends with the process, with exit code 0", async () => {
    await withRows({ id: ONE, printed: "begun\n", now: NOW });
    const { process: child, ended } = startCli(home.folder, ["processes", "log", ONE, "-f"]);
    child.stdin.end();
    await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
    await opened(async (store) => {
      const process = await store.processes.getProcess({ asker: { everyone: true }, id: ONE });
      if (process?.status.state !== "running") throw new Error("it does not run");
      const { keeper } = process.status;
      let from = process.total;
      for (let n = 0; n < 20; n += 1) {
        const text = `line ${n} 夜景\n`;
        await store.processes.appendProcessOutput({ id: ONE, keeper, from, text });
        from += text.length;
      }
      await store.processes.endProcess({
        id: ONE,
        exit: { code: 3 },
        output: { from, text: "last" },
        now: NOW,
      });
    });
    const lines = Array.from({ length: 20 }, (_, n) => `line ${n} 夜景\n`).join("");
    expect(await ended).toMatchObject({
      code: 0,
      out: `begun\n${lines}last`,
      err: expect.stringContaining(`${ONE}: exit 3`),
    });
  });

  it("returns at once for a process that has ended", async () => {
    await withRows({ id: ONE, printed: "all\n", now: NOW, exit: { signal: "SIGKILL" } });
    const ran = await home.run(["processes", "log", ONE, "-f"]);
    expect(ran).toMatchObject({ code: 0, out: "all\n", err: `${ONE}: SIGKILL\n` });
  });

  it("ends with Ctrl-C", async () => {
    await withRows({ id: ONE, printed: "begun\n", now: NOW });
    const { process: child, ended } = startCli(home.folder, ["processes", "log", ONE, "-f"]);
    await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ signal: "SIGINT", out: "begun\n" });
  });
});

describe("postrider processes kill", () => {
  it("reports that a process has already ended, without an error", async () => {
    await withRows({ id: ONE, now: NOW, exit: { code: 1 } });
    const { code, out, err } = await home.run(["processes", "kill", ONE]);
    expect({ code, out, err }).toEqual({ code: 0, out: "", err: `${ONE} had already ended: exit 1.\n` });
  });
});

describe("postrider processes write", () => {
  it("reports an error for a process that has ended", async () => {
    await withRows({ id: ONE, now: NOW, exit: { code: 1 } });
    const { code, err } = await home.run(["processes", "write", ONE, "yes", "--enter"]);
    expect(code).toBe(1);
    expect(err).toContain(`${ONE} has ended (exit 1), so it cannot read input.`);
  });

  it("refuses to run without input", async () => {
    await withRows({ id: ONE, now: NOW });
    expect(await home.run(["processes", "write", ONE])).toMatchObject({ code: 2, out: "" });
  });
});

describe("the gateway's status", () => {
  it("counts the background processes of all people", async () => {
    await withRows({ id: ONE, now: NOW }, { id: TWO, now: NOW, background: false });
    await elsewhere(THREE);
    expect((await home.run(["gateway", "status"])).out).toContain("processes  2 running in the background\n");
    const { out } = await home.run(["gateway", "status", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ processes_running: 2 });
  });
});

describe("a shutdown of the gateway", () => {
  it("does not end background processes, and reports them", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("sleep 1000");
    const { gateway } = await gatewayScene(room.home.folder);
    await gateway();
    const stopped = await cli(room.home.folder, "gateway", "stop");
    expect(stopped).toMatchObject({ code: 0, out: expect.stringContaining("The gateway has stopped") });
    expect(stopped.err).toContain("1 background process continues. List: postrider processes");
    expect((await room.row(id)).status).toMatchObject({ state: "running", detached: false });
  });
});

describe("postrider processes with real processes", () => {
  it("lists, follows, writes to and ends a process, and reports its real exit", async () => {
    const room = await keeperRoom();
    const folder = room.home.folder;
    const { id } = await room.start("echo ready; read line; echo got $line; sleep 1000", { pty: true });
    expect((await cli(folder, "processes")).out).toMatch(new RegExp(`^${id}  running  echo ready`, "m"));
    const follow = startCli(folder, ["processes", "log", id, "-f"]);
    const short = id.slice("proc_".length, -2);
    expect(await cli(folder, "processes", "write", short, "夜景", "--enter")).toMatchObject({ code: 0 });
    await room.until(id, (_, printed) => printed.includes("got 夜景"));
    const killed = await cli(folder, "processes", "kill", short);
    const { status } = await room.row(id);
    expect(status).toMatchObject({ state: "ended", exit: { signal: "SIGTERM" } });
    expect(killed).toMatchObject({ code: 0, out: `${id} ended: SIGTERM.\n`, err: "" });
    const followed = await follow.ended;
    expect(followed).toMatchObject({ code: 0, err: `${id}: SIGTERM\n` });
    expect(followed.out).toBe(await room.printed(id));
    const again = await runCommand(folder, ["processes", "kill", id]);
    expect(again).toMatchObject({ code: 0, out: "", err: `${id} had already ended: SIGTERM.\n` });
    expect((await runCommand(folder, ["processes", "log", id, "--tail", "1"])).out).toContain("got 夜景");
  });

  it("passes stdin to a process, and closes its input", async () => {
    const room = await keeperRoom();
    const { id } = await room.start("sort");
    const { process: child, ended } = startCli(room.home.folder, ["processes", "write", id, "-", "--end"]);
    child.stdin.end("b\na\n");
    expect(await ended).toMatchObject({ code: 0 });
    expect((await room.ended(id)).status).toMatchObject({ exit: { code: 0 } });
    expect((await runCommand(room.home.folder, ["processes", "log", id])).out).toBe("a\nb\n");
  });

  it("ends a process of a killed keeper with a new keeper, and doctor warns about it before", async () => {
    const room = await keeperRoom();
    const folder = room.home.folder;
    const { id, status } = await room.start("echo here; sleep 1000");
    if (status.state !== "running") throw new Error("it does not run");
    await room.until(id, (_, printed) => printed === "here\n");
    const checks = async (): Promise<Record<string, string>> => {
      const { out } = await runCommand(folder, ["doctor", "--json"]);
      const report = JSON.parse(out) as { checks: { check: string; state: string; text: string }[] };
      return Object.fromEntries(report.checks.map(({ check, state, text }) => [check, `${state}: ${text}`]));
    };
    expect(await checks()).toMatchObject({
      keeper: `ok: The process keeper answers (process ${await room.keeperPid()}).`,
      processes: "ok: 1 process of agents runs.",
    });
    chmodSync(room.socket, 0o666);
    expect((await checks()).keeper).toMatch(
      /^problem: Other users of this machine can connect to the process keeper/,
    );
    await runCommand(folder, ["doctor", "--fix"]);
    expect(statSync(room.socket).mode & 0o777).toBe(0o600);
    await room.processes.close(); // a connected client would start a new keeper at once
    await room.killKeeper();
    expect(await checks()).toMatchObject({
      keeper: "warning: The process keeper was killed.",
      processes: expect.stringMatching(/^warning: 1 process of agents without a keeper/),
    });
    const killed = await runCommand(folder, ["processes", "kill", id]);
    expect(killed).toMatchObject({ code: 0, out: `${id} ended: SIGTERM.\n` });
    expect(isAlive(status)).toBe(false);
    expect(await checks()).toMatchObject({ processes: "ok: No process of an agent runs." });
  });
});
