import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { signalGroup } from "../../processes/signal-group.ts";

/** A server that is a program and speaks over its input and output. */
export interface McpProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** All that it sees of the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Gets each line that it complains with. */
  onStderrLine(line: string): void;
}

/** Between asking to end and ending. */
const GRACE_MS = 2000;
/** A program that is gone may have left another behind that holds its output open. */
const FINAL_OUTPUT_MS = 100;

/** Those that still run, so that none outlives us, however we end. */
const runningProcesses = new Set<ChildProcess>();
let hasExitHook = false;

/**
 * The connection to a program that is started for it, in a group of its own: what it starts ends with it. The client's
 * own transport knows no groups, and gives a program more of the environment than it needs.
 */
export function mcpStdioTransport(program: McpProcessOptions): Transport {
  const buffer = new ReadBuffer();
  const gone = Promise.withResolvers<void>();
  let child: ChildProcess | undefined;
  let isClosed = false;

  const transport: Transport = {
    async start() {
      if (isClosed) throw new Error("it was closed before it began");
      const started = Promise.withResolvers<void>();
      const { command, args, env, cwd, onStderrLine } = program;
      const born = spawn(command, [...args], { cwd, env, stdio: "pipe", detached: true });
      child = born;
      trackProcess(born);
      born.on("error", (error) => {
        if (born.pid !== undefined) return; // it runs, and only could not be told something
        runningProcesses.delete(born);
        started.reject(error);
        gone.resolve();
      });
      born.on("spawn", started.resolve);
      born.on("exit", () => void ended(born));
      born.stdin.on("error", () => {}); // it need not listen; that it is gone is told by its end
      born.stdout.on("data", read);
      createInterface({ input: born.stderr }).on("line", onStderrLine);
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
      transport.onerror?.(error as Error); // a message without end
      void transport.close();
      return;
    }
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        transport.onmessage?.(message);
      } catch (error) {
        transport.onerror?.(error as Error); // a line that is no message: the next may be one
      }
    }
  }

  async function ended(former: ChildProcess): Promise<void> {
    await Promise.race([new Promise((resolve) => former.on("close", resolve)), delay(FINAL_OUTPUT_MS)]);
    signalGroup(former, "SIGKILL"); // whom it left behind
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
    if (child?.stdin == null || !child.stdin.writable) return reject(new Error("it is gone"));
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
