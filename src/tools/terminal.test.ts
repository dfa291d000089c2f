import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAlive, type ToolRoom, toolRoom } from "../../test/support/tool-room.ts";
import type { TerminalCommand } from "../ports/terminal.ts";
import { createTools } from "./create-tools.ts";
import { terminalTool } from "./terminal.ts";

let room: ToolRoom;
beforeAll(async () => {
  room = await toolRoom();
});
afterAll(() => room.close());

describe("a foreground command", () => {
  it("returns stdout, stderr and its exit code", async () => {
    const { run } = await terminal();
    const output = await run({ command: "echo out; echo err >&2" });
    expect(output).toMatchObject({ failed: false });
    expect(output.text.split("\n").toSorted()).toEqual(["It ended with code 0.", "err", "out"]);
    expect((await run({ command: "true" })).text).toBe("(no output)\nIt ended with code 0.");
  });

  it("fails with a code other than zero, and returns the code", async () => {
    const { run } = await terminal();
    const output = await run({ command: "echo before; exit 3" });
    expect(output).toMatchObject({ failed: true, text: "before\nIt ended with code 3." });
    expect(await run({ command: "no-such-program-at-all" })).toMatchObject({
      failed: true,
      text: expect.stringMatching(/not found\nIt ended with code 127\.$/),
    });
    expect(await run({ command: "kill -KILL $$" })).toMatchObject({
      failed: true,
      text: expect.stringMatching(/SIGKILL/),
    });
  });

  it("has readable output: no colours, and the last state of a progress bar", async () => {
    const { run } = await terminal();
    const { text } = await run({ command: "printf '\\033[31mred\\033[0m\\n10%%\\r100%%\\nend\\n'" });
    expect(text).toBe("red\n100%\nend\nIt ended with code 0.");
  });

  it("runs in the working folder, or in the named one", async () => {
    const { run, context } = await terminal();
    mkdirSync(join(context.cwd, "deep/er"), { recursive: true });
    expect((await run({ command: "pwd" })).text).toBe(`${context.cwd}\nIt ended with code 0.`);
    expect((await run({ command: "pwd", workdir: "deep/er" })).text).toContain(`${context.cwd}/deep/er\n`);
    expect((await run({ command: "pwd", workdir: "/" })).text).toBe("/\nIt ended with code 0.");
    const atHome = await terminal({ environment: { ...context.environment, HOME: context.cwd } });
    expect((await atHome.run({ command: "pwd", workdir: "~/deep" })).text).toContain(`${context.cwd}/deep\n`);
  });

  it("is not run in a missing folder", async () => {
    const { run, context } = await terminal();
    writeFileSync(join(context.cwd, "file"), "");
    const command = `touch ${join(context.cwd, "ran")}`;
    expect(await run({ command, workdir: "nowhere" })).toEqual({
      failed: true,
      text: `The folder ${context.cwd}/nowhere does not exist. Nothing was run.`,
    });
    expect((await run({ command, workdir: "file" })).text).toContain("is not a folder");
    expect((await run({ command: "ls" })).text).not.toContain("ran");
  });

  it.each([
    ["nothing", "  \n", "empty"],
    ["a NUL", "echo \0", "NUL"],
    ["more than a program can be given", `echo ${"x".repeat(130_000)}`, "to a file"],
  ])("is refused with an error text when it is %s", async (_, command, words) => {
    const { run } = await terminal();
    expect(await run({ command })).toMatchObject({ failed: true, text: expect.stringContaining(words) });
  });

  it("does not wait for input", async () => {
    const { run } = await terminal();
    expect((await run({ command: "cat; echo read it all", timeout: 20 })).text).toContain("read it all");
  });

  it("is killed with its child processes after the time-out, and its output is returned", async () => {
    const { run } = await terminal();
    const output = await run({ command: "echo begun; sleep 61 & echo $!; wait", timeout: 1 });
    expect(output.failed).toBe(true);
    expect(output.text).toMatch(/^begun\n\d+\nThe command did not end within 1 seconds and was killed\.$/);
    expect(isAlive(Number(output.text.split("\n")[1]))).toBe(false);
  });

  it("has a time-out of at most ten minutes, which is noted", async () => {
    const { run } = await terminal();
    const { text, failed } = await run({ command: "echo x", timeout: 3600 });
    expect(text).toMatch(/^x\ntimeout was lowered to 600 seconds, .*\nIt ended with code 0\.$/);
    expect(failed).toBe(false);
  });

  it("is killed when the person stops it, and only it", async () => {
    const [one, other] = [await terminal(), await terminal()];
    const stop = new AbortController();
    const stopped = one.run({ command: "echo $$; sleep 62" }, stop.signal);
    const going = other.run({ command: "mkfifo go; echo $$; read x < go; echo went on" });
    const pids = await Promise.all([one, other].map(({ context }) => room.printed(context, /^(\d+)\n/)));
    stop.abort();
    expect(await stopped).toEqual({ failed: true, text: `${pids[0]}\nThe command was stopped and killed.` });
    expect(pids.map((pid) => isAlive(Number(pid)))).toEqual([false, true]);
    await writeFile(join(other.context.cwd, "go"), "x\n");
    expect(await going).toEqual({ failed: false, text: `${pids[1]}\nwent on\nIt ended with code 0.` });
  });

  it("does not start when the call was stopped before", async () => {
    const { run, context } = await terminal();
    expect(await run({ command: "touch ran" }, AbortSignal.abort())).toMatchObject({ failed: true });
    const { asker, conversation } = context;
    expect(
      await room.store.processes.listProcesses({ asker, conversation, foreground: true, endedSince: 0 }),
    ).toEqual([]);
  });

  it("sees only the configured environment", async () => {
    process.env.POSTRIDER_TEST_SECRET = "a-secret-of-the-program";
    try {
      const { run, context } = await terminal();
      const { text } = await run({ command: "env" });
      expect(text).toContain(`PATH=${context.environment.PATH}`);
      expect(text).not.toContain("a-secret-of-the-program");
      expect(text).not.toContain("VITEST");
    } finally {
      delete process.env.POSTRIDER_TEST_SECRET;
    }
  });

  it("never returns a secret", async () => {
    const secrets = ["s3cret-0123456789", "two\nlines-of-a-key"];
    const context = await room.context({ secrets });
    const [tool, look] = createTools(["terminal", "process"], context);
    if (tool === undefined || look === undefined) throw new Error("the tools are missing");
    const command = "printf 's3cret-0123456789 s3cr\\033[0met-0123456789 two\\nlines-of-a-key\\n'";
    const { text } = await room.call(tool, { command });
    expect(text).not.toMatch(/s3cret|lines-of-a-key/);
    const background = room.json(await room.call(tool, { command, background: true }));
    const { text: waited } = await room.call(look, { action: "wait", session_id: background.session_id });
    expect(waited).toContain("exited");
    expect(waited).not.toMatch(/s3cret|lines-of-a-key/);
  });

  it("reports arguments that are only for background commands", async () => {
    const { run } = await terminal();
    const { text } = await run({ command: "echo x", check_interval: 60, notify_on_complete: true });
    expect(text).toContain("check_interval, notify_on_complete were ignored");
  });
});

describe("a command whose keeper is killed", () => {
  it("does not block the agent, and is ended", async () => {
    const apart = await toolRoom({ apart: true });
    try {
      const context = await apart.context();
      const running = apart.call(terminalTool(context), { command: "echo $$; sleep 74", timeout: 1 });
      const pid = Number(await apart.printed(context, /^(\d+)\n/));
      await apart.killKeeper();
      const output = await running;
      expect(output).toEqual({
        failed: true,
        text: `${pid}\nThe command did not end within 1 seconds and was killed.`,
      });
      expect(isAlive(pid)).toBe(false);
    } finally {
      await apart.close();
    }
  });
});

describe("a command in an editor that has a terminal", () => {
  it("runs there, unless it is a background command or needs a pty", async () => {
    const ran: TerminalCommand[] = [];
    const { run, context } = await terminal({
      terminal: {
        async run(command) {
          ran.push(command);
          return { text: "\u001b[1mfrom the editor\u001b[0m\nIt ended with code 1.", failed: true };
        },
      },
    });
    expect(await run({ command: "make all", timeout: 7 })).toEqual({
      failed: true,
      text: "from the editor\nIt ended with code 1.",
    });
    expect(ran).toMatchObject([
      { call: "call_1", args: ["-c", "make all"], cwd: context.cwd, timeoutMs: 7000 },
    ]);
    expect((await run({ command: "tty > /dev/null && echo tty", pty: true })).text).toContain("tty");
    expect((await run({ command: "true", background: true })).text).toContain("session_id");
    expect(ran).toHaveLength(1);
  });
});

describe("a background command", () => {
  it("returns at once, with its id, its pid and a hint", async () => {
    const { run, context } = await terminal();
    const started = room.json(await run({ command: "sleep 63", background: true }));
    expect(started).toMatchObject({
      session_id: expect.stringMatching(/^proc_[0-9a-f]{12}$/),
      status: "running",
      pid: expect.any(Number),
      notes: [expect.stringContaining("tool process"), "The chat is notified at its end."],
    });
    expect(isAlive(Number(started.pid))).toBe(true);
    const row = await room.store.processes.getProcess({
      asker: context.asker,
      id: String(started.session_id),
    });
    expect(row).toMatchObject({
      session: context.session,
      conversation: context.conversation,
      target: context.target,
      background: true,
      watch: { mode: "all", patterns: [], wakes: false },
    });
  });

  it.each([
    [{ check_interval: 5 }, { mode: "all", everyMs: 30_000 }, /raised to 30 seconds.*every 30 seconds with/s],
    [
      { check_interval: 90 },
      { mode: "all", everyMs: 90_000 },
      /notified every 90 seconds with .* and at its end\./,
    ],
    [{ notify: "result" }, { mode: "result" }, /notified at its end\./],
    [{ notify: "error" }, { mode: "error" }, /notified at its end if it fails\./],
    [{ notify: "off" }, { mode: "off" }, /gets no notifications\./],
    [
      { notify: "off", notify_on_complete: true },
      { mode: "off", wakes: true },
      /gets no notifications\. You are notified when it ends/,
    ],
    [
      { watch_patterns: ["ready", " "] },
      { patterns: ["ready"] },
      /for lines with one of the patterns and at/,
    ],
    [{ timeout: 5 }, { mode: "all" }, /timeout was ignored/],
  ])("has the notifications of %j, which are described", async (given, watch, words) => {
    const { run, context } = await terminal();
    const started = room.json(await run({ command: "true", background: true, ...given }));
    const row = await room.store.processes.getProcess({
      asker: context.asker,
      id: String(started.session_id),
    });
    expect(row?.watch).toMatchObject(watch);
    expect(JSON.stringify(started.notes)).toMatch(words);
    expect(JSON.stringify(started.notes).includes("raised")).toBe(
      "check_interval" in given && given.check_interval === 5,
    );
  });

  it("has the notifications of the settings by default", async () => {
    const { run } = await terminal({ watchMode: "error" });
    expect((await run({ command: "true", background: true })).text).toContain("at its end if it fails");
  });
});

describe("a dangerous command", () => {
  it("needs an approval, which covers only this command in its folder", async () => {
    const { tool, context } = await terminal();
    const cwd = realpathSync(context.cwd);
    mkdirSync(join(cwd, "sub"));
    symlinkSync("sub", join(cwd, "link"));
    const command = "  rm -rf /var/lib/x \n";
    const request = await tool.buildApprovalRequest?.({ command, workdir: "sub" });
    expect(request).toMatchObject({ pattern: "rm -rf /var/lib/x", folder: join(cwd, "sub") });
    expect(request?.detail).toBe(`rm -rf /var/lib/x\n\nin ${cwd}/sub`);
    expect(request?.title).toMatch(/^Run a command that deletes files and folders/);
    expect(await tool.buildApprovalRequest?.({ command, workdir: "link" })).toEqual(request);
    expect(await tool.buildApprovalRequest?.({ command })).toMatchObject({
      pattern: "rm -rf /var/lib/x",
      folder: cwd,
    });
  });

  it("accesses Postrider's own folder, at any path, except the workspace in it", async () => {
    const { tool } = await terminal({
      deniedFolders: ["/srv/post"],
      allowedFolders: ["/srv/post/workspace"],
    });
    expect((await tool.buildApprovalRequest?.({ command: "cp /srv/post/postrider.db ." }))?.title).toContain(
      "Postrider's own folder",
    );
    expect(
      await tool.buildApprovalRequest?.({ command: "cat /srv/post/workspace/a /srv/post/.env" }),
    ).toBeDefined();
    expect(
      await tool.buildApprovalRequest?.({ command: "cat /srv/post/workspace/a /srv/other/b" }),
    ).toBeUndefined();
  });

  it("accesses Postrider's own folder through its working folder or a link", async () => {
    const { context } = await terminal();
    const home = join(context.cwd, "home");
    const workspace = join(home, "workspaces", "a");
    mkdirSync(workspace, { recursive: true });
    writeFileSync(join(home, "config.yaml"), "token: x");
    symlinkSync("../..", join(workspace, "up"));
    const tool = terminalTool({
      ...context,
      cwd: workspace,
      deniedFolders: [home],
      allowedFolders: [workspace],
    });
    const asks = async (command: string, workdir = ".") =>
      (await tool.buildApprovalRequest?.({ command, workdir }))?.title.includes("Postrider's own folder");
    for (const command of ["base64 ../../config.yaml", "rev up/config.yaml", "cat ../../postrider.db-wal"])
      expect(await asks(command), command).toBe(true);
    expect(await asks("cat config.yaml", "../..")).toBe(true);
    expect(await asks("cat config.yaml", "up")).toBe(true);
    expect(await asks("ls", "..")).toBe(true);
    expect(await asks("cat notes.txt")).toBeUndefined();
  });

  it("is distinguished from a harmless one", async () => {
    const { tool } = await terminal();
    for (const command of ["ls -la", "git status", "", "npm test"])
      expect(await tool.buildApprovalRequest?.({ command })).toBeUndefined();
    expect(await tool.buildApprovalRequest?.("no object")).toBeUndefined();
  });
});

async function terminal(more: Parameters<ToolRoom["context"]>[0] = {}) {
  const context = await room.context(more);
  const tool = terminalTool(context);
  return { context, tool, run: (given: unknown, signal?: AbortSignal) => room.call(tool, given, signal) };
}
