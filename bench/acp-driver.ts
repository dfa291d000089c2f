import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

/** One line from the agent, as far as anything is measured by it. */
interface Line {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
  readonly method?: string;
  readonly params?: { readonly update: Update };
}

export interface Update {
  readonly sessionUpdate: string;
  readonly content?: { readonly text?: string };
}

/** An editor that costs next to nothing: lines written and read, without the protocol's library. */
export interface Driver {
  readonly pid: number;
  /** When the process was asked for, by `performance.now()`. */
  readonly spawned: number;
  request<Result>(method: string, params: object): Promise<Result>;
  /** Called with each update as it arrives. */
  heard: (update: Update) => void;
  /** Goes as an editor does: the input ends. Resolves when the process is gone. */
  end(): Promise<void>;
}

export function drive(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Driver {
  const spawned = performance.now();
  const child = spawn(process.execPath, args, { env: { ...process.env, ...environment } });
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const decoder = new StringDecoder();
  let [rest, numbers, errors] = ["", 0, ""];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const exited = new Promise<void>((resolve) => {
    child.on("close", () => {
      for (const { reject } of waiting.values()) reject(new Error(`${args.join(" ")} ended: ${errors}`));
      resolve();
    });
  });
  const driver: Driver = {
    pid: child.pid ?? 0,
    spawned,
    request: (method, params) =>
      new Promise((resolve, reject) => {
        numbers += 1;
        waiting.set(numbers, { resolve: resolve as (value: unknown) => void, reject });
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: numbers, method, params })}\n`);
      }),
    heard() {},
    end() {
      child.stdin.end();
      return exited;
    },
  };
  child.stdout.on("data", (bytes: Buffer) => {
    const lines = (rest + decoder.write(bytes)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result, error, method, params } = JSON.parse(line) as Line;
      if (method === "session/update" && params !== undefined) driver.heard(params.update);
      if (method !== undefined || id === undefined) continue;
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(error.message));
    }
  });
  return driver;
}

export async function initialized(driver: Driver): Promise<void> {
  await driver.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
}

export async function newSession(driver: Driver, cwd: string): Promise<string> {
  const { sessionId } = await driver.request<{ sessionId: string }>("session/new", { cwd, mcpServers: [] });
  return sessionId;
}

export function ask(driver: Driver, sessionId: string, text: string): Promise<unknown> {
  return driver.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
}

/** When the next piece of an answer arrives. */
export function firstToken(driver: Driver): Promise<number> {
  return new Promise((resolve) => {
    driver.heard = ({ sessionUpdate }) => {
      if (sessionUpdate === "agent_message_chunk") resolve(performance.now());
    };
  });
}
