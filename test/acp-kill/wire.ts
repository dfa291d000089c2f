import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/postrider.mjs", import.meta.url));

/** An update as received. */
export interface Update {
  readonly sessionUpdate: string;
  readonly [field: string]: unknown;
}

export interface Response {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** `postrider acp` with raw stdio: no SDK that could hide errors. */
export interface Wire {
  /** All updates of all sessions, in order. */
  readonly updates: readonly { readonly session: string; readonly update: Update }[];
  /** Resolves with the answer, or `undefined` if the process ends first. */
  request(method: string, params: unknown): Promise<Response | undefined>;
  /** Called with each message at once. */
  onCome(look: () => void): void;
  kill(): void;
  /** Like a closed editor. */
  hangUp(): void;
  /** Resolves when all output has been read. */
  readonly ended: Promise<WireEnd>;
}

export interface WireEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly err: string;
  /** Received lines that violate the protocol. */
  readonly garbage: readonly string[];
}

export interface WireOptions {
  readonly home: string;
  readonly agent: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Answers requests to the editor. */
  asked(method: string, params: unknown): Promise<unknown>;
}

export function startWire({ home, agent, environment, asked }: WireOptions): Wire {
  const child = spawn(process.execPath, [BIN, "acp", "--agent", agent], {
    env: { ...process.env, POSTRIDER_HOME: home, ...environment },
  });
  const updates: { session: string; update: Update }[] = [];
  const garbage: string[] = [];
  const waiting = new Map<number, (response: Response | undefined) => void>();
  const looks = new Set<() => void>();
  let [requests, rest, err, hasEnded] = [0, "", "", false];

  const send = (message: object): void =>
    void child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  function take(line: string): void {
    const message = parsed(line);
    if (message === undefined) {
      garbage.push(line.slice(0, 200));
      return;
    }
    const { id, method, params } = message;
    if (method === "session/update") updates.push(shownIn(params));
    else if (typeof method === "string" && id !== undefined)
      void asked(method, params).then((result) => send({ id, result }));
    else if (typeof id === "number" && waiting.has(id)) {
      waiting.get(id)?.(message as Response);
      waiting.delete(id);
    } else if (method !== "$/cancel_request") garbage.push(line.slice(0, 200));
    for (const look of looks) look();
  }

  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(take);
  });
  child.stderr.setEncoding("utf8").on("data", (data: string) => {
    err += data;
  });
  child.stdin.on("error", () => {}); // it may be killed during a write
  const ended = new Promise<WireEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      hasEnded = true;
      for (const resolve of waiting.values()) resolve(undefined);
      // Only the last line can be incomplete.
      if (rest !== "" && !BEGINNING.startsWith(rest.slice(0, BEGINNING.length)))
        garbage.push(rest.slice(0, 200));
      resolve({ code, signal, err, garbage });
    });
  });

  return {
    updates,
    request(method, params) {
      if (hasEnded) return Promise.resolve(undefined);
      requests += 1;
      const id = requests;
      const response = new Promise<Response | undefined>((resolve) => waiting.set(id, resolve));
      send({ id, method, params });
      return response;
    },
    onCome: (look) => void looks.add(look),
    kill: () => void child.kill("SIGKILL"),
    hangUp: () => void child.stdin.end(),
    ended,
  };
}

const BEGINNING = '{"jsonrpc":"2.0",';

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
}

function parsed(line: string): Message | undefined {
  try {
    const message = JSON.parse(line) as { readonly jsonrpc?: unknown } & Message;
    return message.jsonrpc === "2.0" ? message : undefined;
  } catch {
    return undefined;
  }
}

function shownIn(params: unknown): { session: string; update: Update } {
  const { sessionId, update } = params as { readonly sessionId: string; readonly update: Update };
  return { session: sessionId, update };
}
