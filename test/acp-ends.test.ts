import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "./support/folder.ts";
import { schedule } from "./support/schedule.ts";

const BIN = fileURLToPath(new URL("../bin/postrider.mjs", import.meta.url));
const INITIALIZE = { protocolVersion: 1, clientCapabilities: {} };
/** An idle process ends in a fraction of this. */
const BOUND_MS = 10_000;

describe("the editor process ends when its editor dies", { timeout: 60_000 }, () => {
  it.each(schedule([0, 100, 250], [0, 25, 50, 75, 100, 150, 200, 250, 300, 350, 400]))(
    "%i ms after initialize",
    async (ms) => {
      const agent = startAgent();
      agent.ask("initialize", INITIALIZE);
      await pause(ms);
      agent.loseEditor();
      expect(await agent.endsWithin(BOUND_MS)).toBe(true);
    },
  );

  it("right after the start", async () => {
    const agent = startAgent();
    agent.loseEditor();
    expect(await agent.endsWithin(BOUND_MS)).toBe(true);
  });

  it("after the first byte of a request", async () => {
    const agent = startAgent();
    agent.ask("initialize", INITIALIZE);
    await agent.firstByte;
    agent.loseEditor();
    expect(await agent.endsWithin(BOUND_MS)).toBe(true);
  });

  it("while it opens a session", async () => {
    const agent = startAgent();
    agent.ask("initialize", INITIALIZE);
    await agent.firstByte;
    agent.ask("session/new", { cwd: agent.folder, mcpServers: [] });
    agent.loseEditor();
    expect(await agent.endsWithin(BOUND_MS)).toBe(true);
  });

  it("after it closed only its own side of the input", async () => {
    const agent = startAgent();
    agent.ask("initialize", INITIALIZE);
    agent.child.stdin.end();
    expect(await agent.endsWithin(BOUND_MS)).toBe(true);
  });
});

describe("the editor process ends on SIGTERM while its editor waits", { timeout: 60_000 }, () => {
  it.each(schedule([0, 150, 300], [0, 50, 100, 150, 200, 300, 400]))("%i ms after initialize", async (ms) => {
    const agent = startAgent();
    agent.ask("initialize", INITIALIZE);
    await pause(ms);
    agent.child.kill("SIGTERM");
    expect(await agent.endsWithin(BOUND_MS)).toBe(true);
  });

  it("while it opens a session", async () => {
    const agent = startAgent();
    agent.ask("initialize", INITIALIZE);
    await agent.firstByte;
    agent.ask("session/new", { cwd: agent.folder, mcpServers: [] });
    agent.child.kill("SIGTERM");
    expect(await agent.endsWithin(BOUND_MS)).toBe(true);
  });
});

interface Agent {
  readonly child: ChildProcessWithoutNullStreams;
  readonly folder: string;
  readonly firstByte: Promise<void>;
  ask(method: string, params: unknown): void;
  /** Closes both pipes, as when the editor is killed. */
  loseEditor(): void;
  endsWithin(ms: number): Promise<boolean>;
}

function startAgent(): Agent {
  const temporary = temporaryFolder();
  const child = spawn(process.execPath, [BIN, "acp", "--agent", "echo"], {
    env: { ...process.env, POSTRIDER_HOME: join(temporary.path, "home") },
  });
  const ended = new Promise<boolean>((resolve) => child.on("exit", () => resolve(true)));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    temporary.remove();
  });
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
  const firstByte = new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  let id = 0;
  return {
    child,
    folder: temporary.path,
    firstByte,
    ask(method, params) {
      id += 1;
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    },
    loseEditor() {
      child.stdin.destroy();
      child.stdout.destroy();
      child.stderr.destroy();
    },
    endsWithin: (ms) => Promise.race([ended, pause(ms).then(() => false)]),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
