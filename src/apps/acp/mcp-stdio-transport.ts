import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { signalGroup } from "../../processes/signals.ts";

/** An MCP server process that communicates over stdin and stdout. */
export interface McpProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  onStderrLine(line: string): void;
}

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 2000;
/** A child of an ended process may still hold its output open. */
const FINAL_OUTPUT_MS = 100;

/** Killed when this process exits. */
const runningProcesses = new Set<ChildProcess>();
let hasExitHook = false;

/**
 * Starts the server in its own process group, so that its children end with it. The transport of the SDK has no groups and
 * passes on more of the environment than a server needs.
 */
export function mcpStdioTransport(options: McpProcessOptions): Transport {
  const buffer = new ReadBuffer();
  const gone = Promise.withResolvers<void>();
  let child: ChildProcess | undefined;
  let isClosed = false;

  const transport: Transport = {
    async start() {
      if (isClosed) throw new Error("the MCP transport was closed before it started");
      const started = Promise.withResolvers<void>();
      const { command, args, env, cwd, onStderrLine } = options;
      const server = spawn(command, [...args], { cwd, env, stdio: "pipe", detached: true });
      child = server;
      trackProcess(server);
      server.on("error", (error) => {
        if (server.pid !== undefined) return; // it runs; only a signal could not be sent
        runningProcesses.delete(server);
        started.reject(error);
        gone.resolve();
      });
      server.on("spawn", started.resolve);
      server.on("exit", () => void handleExit(server));
      server.stdin.on("error", () => {}); // the exit event reports a process that has ended
      server.stdout.on("data", read);
      createInterface({ input: server.stderr }).on("line", onStderrLine);
      await started.promise;
    },
    send: (message) => sendMessage(child, message),
    async close() {
      isClosed = true;
      if (child === undefined) return;
      child.stdin?.end();
      await terminateProcess(child, gone.promise);
    },
  };

  function read(chunk: Buffer): void {
    try {
      buffer.append(chunk);
    } catch (error) {
      transport.onerror?.(error as Error); // the message exceeds the limit
      void transport.close();
      return;
    }
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        transport.onmessage?.(message);
      } catch (error) {
        transport.onerror?.(error as Error); // skip a line that is not a message
      }
    }
  }

  async function handleExit(former: ChildProcess): Promise<void> {
    await Promise.race([new Promise((resolve) => former.on("close", resolve)), delay(FINAL_OUTPUT_MS)]);
    signalGroup(former, "SIGKILL"); // its children
    former.stdout?.destroy();
    former.stderr?.destroy();
    runningProcesses.delete(former);
    gone.resolve();
    transport.onclose?.();
  }

  return transport;
}

function sendMessage(child: ChildProcess | undefined, message: JSONRPCMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    if (child?.stdin == null || !child.stdin.writable) return reject(new Error("the MCP server has ended"));
    child.stdin.write(serializeMessage(message), (error) => (error == null ? resolve() : reject(error)));
  });
}

async function terminateProcess(child: ChildProcess, gone: Promise<void>): Promise<void> {
  signalGroup(child, "SIGTERM");
  await Promise.race([gone, delay(GRACE_MS)]);
  signalGroup(child, "SIGKILL");
  await Promise.race([gone, delay(GRACE_MS)]);
}

function trackProcess(child: ChildProcess): void {
  runningProcesses.add(child);
  if (hasExitHook) return;
  hasExitHook = true;
  process.on("exit", () => {
    for (const left of runningProcesses) signalGroup(left, "SIGKILL");
  });
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref());
}
