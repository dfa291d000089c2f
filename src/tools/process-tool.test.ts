import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { comeTo } from "../../test/support/places.ts";
import { runIn } from "../../test/support/running.ts";
import { HOUR, openHome } from "../../test/support/test-home.ts";
import { isAlive, type ToolRoom, toolRoom } from "../../test/support/tool-room.ts";
import { LISTED_AFTER_END_MS } from "../core/process.ts";
import type { Source } from "../core/source.ts";
import { processTool } from "./process-tool.ts";
import { terminalTool } from "./terminal.ts";
import type { ToolContext } from "./tool-context.ts";

let room: ToolRoom;
beforeAll(async () => {
  room = await toolRoom();
});
afterAll(() => room.close());

describe("a process that was started", () => {
  it("is polled while it runs and after its end", async () => {
    const { start, act, context } = await openChat();
    const id = await start("echo hello; read x; exit 3");
    await room.printed(context, /(hello)/);
    expect(await act({ action: "poll", session_id: id })).toMatchObject({
      session_id: id,
      command: "echo hello; read x; exit 3",
      status: "running",
      pid: expect.any(Number),
      uptime_seconds: expect.any(Number),
      output: "hello\n",
      failed: false,
    });
    await act({ action: "submit", session_id: id, data: "" });
    await act({ action: "wait", session_id: id });
    expect(await act({ action: "poll", session_id: id })).toMatchObject({
      status: "exited",
      exit_code: 3,
      output: "hello\n",
    });
  });

  it("does not wake an agent that has seen its end, and wakes one that has not", async () => {
    const { start, act, context } = await openChat();
    const isTold = async (id: string) =>
      (await context.store.processes.getProcess({ asker: context.asker, id }))?.reported.end;
    const [seen, killed, unseen] = await Promise.all(
      Array.from({ length: 3 }, () => start("read x", { notify_on_complete: true })),
    );
    await act({ action: "poll", session_id: unseen });
    await act({ action: "submit", session_id: seen });
    await act({ action: "wait", session_id: seen });
    await act({ action: "kill", session_id: killed });
    await context.processes.kill(unseen ?? "");
    expect(await Promise.all([seen, killed, unseen].map((id = "") => isTold(id)))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("is polled with its last thousand characters", async () => {
    const { act, ended } = await openChat();
    const id = await ended("printf 'a%.0s' $(seq 1500); printf z");
    expect((await act({ action: "poll", session_id: id })).output).toBe(`${"a".repeat(999)}z`);
  });

  it("is found by the argument id, and with spaces around it", async () => {
    const { act, ended } = await openChat();
    const id = await ended("true");
    expect(await act({ action: "poll", id })).toMatchObject({ status: "exited", exit_code: 0 });
    expect(await act({ action: "poll", session_id: ` ${id}\n` })).toMatchObject({ status: "exited" });
  });

  it("shows the lines of its log: the last ones, or the requested ones", async () => {
    const { act, ended } = await openChat();
    const id = await ended("seq 0 49");
    const log = async (more: object) => await act({ action: "log", session_id: id, ...more });
    expect(await log({})).toMatchObject({ total_lines: 50, showing: "lines 0 to 49", status: "exited" });
    expect(await log({ limit: 3 })).toMatchObject({ output: "47\n48\n49", showing: "lines 47 to 49" });
    expect(await log({ offset: 10, limit: 2 })).toMatchObject({ output: "10\n11" });
    expect(await log({ offset: 0, limit: 2 })).toMatchObject({ output: "0\n1" });
    expect(await log({ offset: 48 })).toMatchObject({ output: "48\n49" });
    expect(await log({ offset: 99 })).toMatchObject({ output: "", showing: "no lines", total_lines: 50 });
    const long = await ended("seq 1 500");
    const usual = await act({ action: "log", session_id: long });
    expect(String(usual.output).split("\n")).toHaveLength(200);
    expect(usual).toMatchObject({ total_lines: 500, showing: "lines 300 to 499" });
  });

  it("reports when the start of its output is no longer stored", async () => {
    const { act, ended } = await openChat();
    const id = await ended("seq 1 60000");
    const log = await act({ action: "log", session_id: id, offset: 0, limit: 1 });
    expect(log.cut).toContain("no longer stored");
    expect(log.output).toMatch(/^\d{5}$/);
  });

  it("can be awaited; the result has its last two thousand characters", async () => {
    const { start, act } = await openChat();
    const id = await start("printf 'a%.0s' $(seq 2500); exit 4");
    expect(await act({ action: "wait", session_id: id, timeout: 30 })).toMatchObject({
      status: "exited",
      exit_code: 4,
      output: "a".repeat(2000),
    });
  });

  it("continues when it does not end within the time-out", async () => {
    const { start, act, context } = await openChat();
    const id = await start("printf 'a%.0s' $(seq 1500); echo z; sleep 64");
    await room.printed(context, /(z)/);
    const waited = await act({ action: "wait", session_id: id, timeout: 0.05 });
    expect(waited).toMatchObject({ status: "timeout", failed: false, pid: expect.any(Number) });
    expect(waited.output).toBe(`${"a".repeat(998)}z\n`);
    expect(waited).not.toHaveProperty("timeout_note");
    expect(isAlive(Number(waited.pid))).toBe(true);
  });

  it("is never awaited longer than the maximum time-out, which is noted", async () => {
    const { start, act } = await openChat({ timeoutMs: 200 });
    const id = await start("sleep 65");
    expect(await act({ action: "wait", session_id: id, timeout: 600 })).toMatchObject({
      status: "timeout",
      timeout_note: "timeout was lowered to 0.2 seconds, the maximum.",
    });
    expect(await act({ action: "wait", session_id: id })).toMatchObject({ status: "timeout" });
  });

  it("continues when the person interrupts the wait", async () => {
    const { start, tool, context } = await openChat();
    const id = await start("echo up; sleep 66");
    await room.printed(context, /(up)/);
    const stop = new AbortController();
    const waiting = room.call(tool, { action: "wait", session_id: id }, stop.signal);
    stop.abort();
    const waited = room.json(await waiting);
    expect(waited).toMatchObject({ status: "interrupted", output: "up\n" });
    expect(isAlive(Number(waited.pid))).toBe(true);
  });

  it("is killed with its child processes; a second kill reports that it has exited", async () => {
    const { start, act, context } = await openChat();
    const id = await start("sleep 67 & echo $!; wait");
    const child = Number(await room.printed(context, /^(\d+)\n/));
    const { pid } = await act({ action: "poll", session_id: id });
    expect(await act({ action: "kill", session_id: id })).toMatchObject({
      status: "killed",
      exit_code: -15,
      signal: "SIGTERM",
      failed: false,
    });
    expect([isAlive(Number(pid)), isAlive(child)]).toEqual([false, false]);
    expect(await act({ action: "kill", session_id: id })).toMatchObject({
      status: "already_exited",
      exit_code: -15,
      failed: false,
    });
  });

  it("gets raw text with write and whole lines with submit", async () => {
    const { start, act } = await openChat();
    const id = await start('read a; read b; echo "[$a] [$b]"');
    expect(await act({ action: "write", session_id: id, data: "o" })).toMatchObject({
      status: "ok",
      bytes_written: 1,
    });
    await act({ action: "submit", session_id: id, data: "ne é" });
    await act({ action: "write", session_id: id, data: "two\n" });
    expect(await act({ action: "wait", session_id: id })).toMatchObject({
      status: "exited",
      output: "[one é] [two]\n",
    });
    expect(await act({ action: "write", session_id: id, data: "x" })).toMatchObject({
      status: "already_exited",
      failed: true,
    });
    expect(await act({ action: "submit", session_id: id, data: "x" })).toMatchObject({ failed: true });
  });

  it("can be an interactive program in a terminal", async () => {
    const { start, act, context } = await openChat();
    const id = await start("test -t 0 && python3 -i -q", { pty: true });
    await room.printed(context, /(>>>)/);
    await act({ action: "submit", session_id: id, data: "print('is', 6 * 7)" });
    await room.printed(context, /(is 42)/);
    await act({ action: "write", session_id: id, data: "exit(" });
    await act({ action: "submit", session_id: id, data: "5)" });
    expect(await act({ action: "wait", session_id: id })).toMatchObject({ status: "exited", exit_code: 5 });
  });

  it("can be a shell that prompts in its terminal", async () => {
    const { start, act, context } = await openChat();
    const id = await start("read -p 'name? ' name; echo \"hello $name\"", { pty: true });
    await room.printed(context, /(name\?)/);
    await act({ action: "submit", session_id: id, data: "Ada" });
    expect(await act({ action: "wait", session_id: id })).toMatchObject({
      exit_code: 0,
      output: expect.stringContaining("hello Ada\n"),
    });
  });
});

describe("a process whose keeper was killed", () => {
  it("can still be read, written to and ended", async () => {
    const apart = await toolRoom({ apart: true });
    try {
      const { start, act, context } = await openChat({}, apart);
      const id = await start("echo up; read -r word; echo got $word; sleep 72");
      await apart.printed(context, /(up)/);
      await apart.killKeeper();
      await act({ action: "write", session_id: id, data: "it\n" });
      await apart.printed(context, /(got it)/);
      const seen = await act({ action: "poll", session_id: id });
      expect(seen).toMatchObject({ status: "running" });
      expect(seen).not.toHaveProperty("detached");
      const killed = await act({ action: "kill", session_id: id });
      expect(killed).toMatchObject({ status: "killed", exit_code: -15 });
    } finally {
      await apart.close();
    }
  });

  it("is reported as detached when its files are gone too, cannot be written to, and can be killed", async () => {
    const apart = await toolRoom({ apart: true });
    try {
      const { start, act, context } = await openChat({}, apart);
      const [kept, gone] = [await start("echo up; sleep 72"), await start("echo up; sleep 73")];
      await apart.printed(context, /(up)/);
      const dead = await act({ action: "poll", session_id: gone });
      await apart.loseKeeper();
      process.kill(-Number(dead.pid), "SIGKILL");
      await start("true"); // the next keeper begins with it
      expect(await act({ action: "poll", session_id: kept })).toMatchObject({
        status: "running",
        detached: true,
        note: expect.stringContaining("cannot be read"),
      });
      expect(await act({ action: "wait", session_id: gone })).toMatchObject({
        status: "exited",
        exit_code: null,
        note: expect.stringContaining("exit code is unknown"),
      });
      expect(await act({ action: "write", session_id: kept, data: "x" })).toMatchObject({
        failed: true,
        error: expect.stringContaining("detached"),
      });
      const killed = await act({ action: "kill", session_id: kept });
      expect(killed).toMatchObject({ status: "killed", exit_code: null });
    } finally {
      await apart.close();
    }
  });
});

describe("an invalid call of the tool", () => {
  it.each([
    [{ action: "restart", session_id: "proc_000000000000" }, /list, poll, log, wait, kill, write, submit/],
    [{}, /list, poll, log, wait, kill, write, submit/],
    [{ action: "constructor" }, /list, poll, log, wait, kill, write, submit/],
    [{ action: "poll" }, /session_id is missing/],
    [{ action: "kill", session_id: "" }, /session_id is missing/],
    [{ action: "log", session_id: null }, /session_id is missing/],
  ])("is an error that says what to do: %j", async (given, words) => {
    const { act } = await openChat();
    expect(await act(given)).toMatchObject({ failed: true, error: expect.stringMatching(words) });
  });

  it.each(["poll", "log", "wait", "kill", "write", "submit"])(
    "reports an unknown id for the action %s",
    async (action) => {
      const { act } = await openChat();
      for (const session_id of ["proc_000000000000", "nonsense", 12345, "../x"])
        expect(await act({ action, session_id, data: "x" })).toMatchObject({
          status: "not_found",
          failed: true,
          error: expect.stringContaining(String(session_id)),
        });
    },
  );

  it("reports when there is nothing to write", async () => {
    const { start, act } = await openChat();
    const id = await start("sleep 68");
    const error = expect.stringContaining("data is missing");
    expect(await act({ action: "write", session_id: id })).toMatchObject({ failed: true, error });
  });
});

describe("an interrupted call after a crash", () => {
  it("counts as external for kill and write, not for reading", async () => {
    const { tool } = await openChat();
    const effects = ["list", "poll", "log", "wait", "kill", "write", "submit", "nonsense"].map((action) =>
      tool.getEffect?.({ action }),
    );
    expect(effects).toEqual(["none", "none", "none", "none", "external", "external", "external", "none"]);
  });

  it("needs an approval when a running shell gets a dangerous command", async () => {
    const { tool } = await openChat();
    expect(
      await tool.buildApprovalRequest?.({ action: "submit", session_id: "proc_1", data: "rm -rf / " }),
    ).toMatchObject({
      pattern: "rm -rf /",
      detail: "rm -rf /\n\nto proc_1",
      onlyOnce: true,
    });
    expect(
      await tool.buildApprovalRequest?.({ action: "submit", session_id: "proc_1", data: "yes" }),
    ).toBeUndefined();
    expect(
      await tool.buildApprovalRequest?.({ action: "poll", session_id: "proc_1", data: "rm -rf /" }),
    ).toBeUndefined();
  });
});

describe("a dangerous line that is written in pieces", () => {
  it.each([
    ["a shell", "bash", ["r", "m -", "rf x\n"], "rm -rf x"],
    ["a shell, over two lines", "bash", ["rm \\\n", "-rf x\n"], "rm \\\n-rf x"],
    ["a loop", "bash", ["for f in a; do\n", "rm -", "r $f\n"], "for f in a; do\nrm -r $f"],
    ["a here-document", "bash", ["bash <<X\n", "rm -", "r a\n"], "bash <<X\nrm -r a"],
    ["a quote", "bash", ["bash -c '\n", "rm -", "r a'\n"], "bash -c '\nrm -r a'"],
    ["python", "python3 -i", ["import os\n", "os.sys", "tem('ls')\n"], "os.system('ls')"],
    ["psql", "psql", ["drop ta", "ble x;\n"], "drop table x;"],
    ["a program that nobody knows", "./console", ["rm -", "rf x\n"], "rm -rf x"],
  ])("needs an approval before it is complete, in %s", async (_, command, pieces, pattern) => {
    const { id, piece } = await startTyping(command);
    for (const text of pieces.slice(0, -1)) expect(await piece(text)).toBeUndefined();
    const last = pieces.at(-1) ?? "";
    expect(await piece(last)).toMatchObject({ pattern, detail: `${pattern}\n\nto ${id}` });
  });

  it("needs an approval in another turn, after a restart of everything but the process", async () => {
    const { id, piece, context } = await startTyping("bash");
    expect(await piece("rm -")).toBeUndefined();
    const later = processTool({ ...context });
    expect(
      await later.buildApprovalRequest?.({ action: "submit", session_id: id, data: "r x" }),
    ).toMatchObject({
      pattern: "rm -r x",
    });
  });

  it("is not written when other pieces arrived after the check", async () => {
    const { id, tool } = await startTyping("bash");
    const pieces = ["rm -", "r x\n"].map((data) => ({ action: "write", session_id: id, data }));
    for (const given of pieces) expect(await tool.buildApprovalRequest?.(given)).toBeUndefined();
    const [first, second] = [await room.call(tool, pieces[0]), await room.call(tool, pieces[1])];
    expect([first.failed, second.failed]).toEqual([false, true]);
    expect(second.text).toContain("Write it again");
  });

  it.each([
    ["\u007f", "a key that deletes"],
    ["\u0015", "a key that deletes the line"],
    ["\u001b[A", "a key that brings back an earlier line"],
    ["\u000f", "a key that runs the line"],
    ["l\t", "a key that completes a word"],
    ["!!\n", "an earlier line"],
    ["!rm\n", "an earlier line by its name"],
    ["^a^b\n", "an earlier line that is changed"],
  ])("needs an approval when its content is unknown: %j", async (text) => {
    const { piece } = await startTyping("bash");
    expect(await piece(text)).toBeDefined();
  });

  it("needs an approval, once, when its start is unknown", async () => {
    const { id, piece } = await startTyping("bash");
    await room.store.processes.recordProcessInput({ id });
    expect(await piece("ech")).toBeUndefined();
    const request = await piece("o a\n");
    expect(request?.title).toContain("start is unknown");
    expect(request).not.toHaveProperty("pattern");
  });

  it("needs no approval when it is only data, or after Ctrl-C", async () => {
    const { piece } = await startTyping("cat > /dev/null");
    expect(await piece("rm -rf x\n")).toBeUndefined();
    const shell = await startTyping("bash");
    for (const text of ["rm -", "\u0003", "ls\n", "echo a\n"])
      expect(await shell.piece(text)).toBeUndefined();
  });

  it("needs an approval when it accesses Postrider's own folder", async () => {
    const { piece } = await startTyping("bash", {
      deniedFolders: ["/srv/post"],
      allowedFolders: ["/srv/post/workspace"],
    });
    expect((await piece("cat /srv/post/conf"))?.title).toContain("Postrider's own folder");
    expect((await piece("cat ../x\n"))?.title).toContain("Postrider's own folder");
  });

  /** Starts a command. `piece` writes a piece of input, or returns the approval request that it needs. */
  async function startTyping(command: string, more: Partial<ToolContext> = {}) {
    const { start, tool, context } = await openChat(more);
    const isThere = !/psql|console/.test(command);
    const id = await start(isThere ? command : `cat > /dev/null # ${command}`);
    const asked = isThere ? tool : processTool({ ...context, store: replaceCommand(context, id, command) });
    const piece = async (data: string) => {
      const given = { action: data === "" ? "submit" : "write", session_id: id, data };
      const request = await asked.buildApprovalRequest?.(given);
      if (request === undefined) expect(await room.call(asked, given)).toMatchObject({ failed: false });
      return request;
    };
    return { id, piece, tool, context };
  }

  /** Reports this command for the process, because not every machine has every program. */
  function replaceCommand({ store }: ToolContext, id: string, command: string): ToolContext["store"] {
    return {
      ...store,
      processes: {
        ...store.processes,
        async getProcess(input) {
          const found = await store.processes.getProcess(input);
          return found?.id === id ? { ...found, command } : found;
        },
      },
    };
  }
});

describe("the list", () => {
  it("has running and ended processes, newest first, with their details", async () => {
    const { start, act, ended } = await openChat();
    const [done, running] = [await ended("exit 2"), await start(`sleep 69 # ${"x".repeat(300)}`)];
    const { processes } = await act({ action: "list" });
    expect(processes).toMatchObject([
      {
        session_id: running,
        status: "running",
        pid: expect.any(Number),
        started_at: expect.stringMatching(/Z$/),
      },
      {
        session_id: done,
        command: "exit 2",
        status: "exited",
        exit_code: 2,
        uptime_seconds: expect.any(Number),
      },
    ]);
    const [first] = processes as readonly { readonly command: string }[];
    expect(first?.command.length).toBeLessThan(210);
  });

  it("is empty at first, and has no foreground commands", async () => {
    const { act, context } = await openChat();
    await room.call(terminalTool(context), { command: "true" });
    expect(await act({ action: "list" })).toMatchObject({ processes: [], failed: false });
  });

  it("drops processes half an hour after their end", async () => {
    let ahead = 0;
    const now = (): number => Date.now() + ahead;
    const { act, ended } = await openChat({ clock: { ...room.clock, now } });
    await ended("true");
    ahead = LISTED_AFTER_END_MS - 60_000;
    expect((await act({ action: "list" })).processes).toHaveLength(1);
    ahead = LISTED_AFTER_END_MS + 60_000;
    expect((await act({ action: "list" })).processes).toHaveLength(0);
  });

  it("keeps a long-running process for half an hour after its end", async () => {
    const home = await openHome();
    const ada: Source = { platform: "telegram", chatType: "dm", chatId: "1", userId: "1" };
    const { context } = await comeTo(home, ada);
    const listed = async () =>
      room.json(await room.call(processTool(context), { action: "list" })).processes as readonly unknown[];
    const job = await runIn(home, ada);
    home.clock.pass(HOUR);
    await job.end({ code: 0 });
    home.clock.pass(LISTED_AFTER_END_MS);
    expect(await listed()).toMatchObject([{ session_id: job.id, status: "exited", uptime_seconds: 3600 }]);
    home.clock.pass(1);
    expect(await listed()).toEqual([]);
  });
});

describe("two conversations", () => {
  const step = fc.record({
    who: fc.nat({ max: 1 }),
    action: fc.constantFrom("start", "list", "poll", "log", "wait", "write", "submit", "kill"),
    which: fc.nat(),
  });

  it.each([
    ["of two people", "one", "other"],
    ["of one person", "one", "one"],
    ["of the owner", undefined, undefined],
  ])("%s never see each other's processes, in any order of actions", async (_, ...accounts) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
        const chats = await Promise.all(accounts.map((account) => openChat({}, room, account)));
        const started: { readonly who: number; readonly id: string }[] = [];
        try {
          for (const { who, action, which } of steps) {
            const asking = chats[who];
            if (asking === undefined) throw new Error("there are two");
            if (action === "start") started.push({ who, id: await asking.start("sleep 70") });
            else if (action === "list") {
              const own = started.filter((one) => one.who === who).map(({ id }) => id);
              expect(listIds(await asking.act({ action })).toSorted()).toEqual(own.toSorted());
            } else {
              const one = started[which % Math.max(1, started.length)];
              if (one === undefined) continue;
              const answer = await asking.act({ action, session_id: one.id, data: "x", timeout: 0.01 });
              expect(answer.status === "not_found").toBe(one.who !== who);
              if (one.who !== who) expect(Object.keys(answer)).toEqual(["status", "error", "failed"]);
            }
          }
        } finally {
          for (const { id } of started) await room.processes.kill(id);
        }
      }),
      { numRuns: 5 },
    );
  });
});

function listIds({ processes }: Readonly<Record<string, unknown>>): readonly string[] {
  return (processes as readonly { readonly session_id: string }[]).map(({ session_id }) => session_id);
}

async function openChat(
  more: Parameters<ToolRoom["context"]>[0] = {},
  where: ToolRoom = room,
  account?: string,
) {
  const context = await where.context(more, account);
  const tool = processTool(context);
  const terminal = terminalTool(context);
  const act = async (given: object): Promise<Readonly<Record<string, unknown>>> => {
    const called = await where.call(tool, given);
    return { ...where.json(called), failed: called.failed };
  };
  const start = async (command: string, options: object = {}): Promise<string> =>
    String(where.json(await where.call(terminal, { command, background: true, ...options })).session_id);
  return {
    context,
    tool,
    act,
    start,
    /** Starts a command and waits for its end. Returns its id. */
    async ended(command: string): Promise<string> {
      const id = await start(command);
      expect(await act({ action: "wait", session_id: id })).toMatchObject({ status: "exited" });
      return id;
    },
  };
}
