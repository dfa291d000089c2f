import { type Duplex, type Readable, Readable as Reading, type Writable } from "node:stream";
import {
  type AnyMessage,
  type AnyResponse,
  type ClientCapabilities,
  type ClientContext,
  type ContentBlock,
  type CreateTerminalRequest,
  client,
  type InitializeResponse,
  type NewSessionResponse,
  ndJsonStream,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from "@agentclientprotocol/sdk/unstable";
import { listeners } from "../support/listeners.ts";

/** An editor for tests: the client of the protocol's SDK, and all messages that it got. */
export interface Editor {
  /** Requests and notifications of the SDK. It turns some errors into empty results: see `call`. */
  readonly agent: ClientContext;
  /** All received messages, in order. */
  readonly wire: readonly AnyMessage[];
  /** The updates that the SDK accepted: all of them, unless one does not match the schema. */
  readonly updates: readonly SessionNotification[];
  /** Approval requests, in order. Each waits for its answer. */
  readonly permissions: readonly PermissionAsked[];
  /** The requests to the editor's terminal, in order. */
  readonly terminals: readonly { readonly method: string; readonly params: unknown }[];
  /** Resolves when the function finds something; runs it now and after each message. */
  until<Found>(look: () => Found | undefined): Promise<Found>;
  /** The next approval request. */
  asked(): Promise<PermissionAsked>;
  initialize(capabilities?: ClientCapabilities, protocolVersion?: number): Promise<InitializeResponse>;
  /** A new session in the editor's folder. */
  open(): Promise<NewSessionResponse>;
  /** Sends a prompt and waits for the end of the answer. */
  prompt(sessionId: string, said: string | readonly ContentBlock[]): Promise<PromptResponse>;
  /** The updates of a session, filtered by kind. */
  shown(sessionId: string, ...kinds: readonly SessionUpdate["sessionUpdate"][]): SessionUpdate[];
  /** The text of the agent in a session. */
  words(sessionId: string): string;
  /** Sends a raw request and returns its raw answer. */
  call(method: string, params?: unknown): Promise<AnyResponse>;
  /** Sends a raw line. */
  write(line: string): void;
  /** Closes the output like a closed editor; input is still read. */
  hangUp(): void;
}

export interface PermissionAsked {
  readonly params: RequestPermissionRequest;
  /** Aborts when the request is cancelled. */
  readonly signal: AbortSignal;
  choose(optionId: string): void;
  answer(response: RequestPermissionResponse): void;
  /** The editor answers with an error. */
  fail(error: Error): void;
}

/** The result of a command in the editor's terminal. */
export interface TerminalRun {
  readonly output: string;
  readonly exitCode?: number;
}

export interface EditorOptions {
  /** The folder of new sessions. */
  readonly cwd: string;
  /** Gives the editor a terminal. A command that is killed ends with a signal. */
  terminal?(command: CreateTerminalRequest): Promise<TerminalRun> | TerminalRun;
}

/** An editor on these streams. The server may be in this process or another. */
export function editorAt(to: Writable | Duplex, from: Readable | Duplex, options: EditorOptions): Editor {
  const wire: AnyMessage[] = [];
  const updates: SessionNotification[] = [];
  const permissions: PermissionAsked[] = [];
  const terminals: { method: string; params: unknown }[] = [];
  const changes = listeners();
  const byHand = new Map<string, (answer: AnyResponse) => void>();
  let isAsked = 0;
  let calls = 0;

  const took = <Kept>(list: Kept[], kept: Kept): void => {
    list.push(kept);
    changes.tell();
  };
  const app = client({ name: "an editor" })
    .onNotification("session/update", ({ params }) => took(updates, params))
    .onRequest(
      "session/request_permission",
      ({ params, signal }) =>
        new Promise<RequestPermissionResponse>((answer, fail) => {
          signal.addEventListener("abort", () => answer({ outcome: { outcome: "cancelled" } }));
          const choose = (optionId: string): void => answer({ outcome: { outcome: "selected", optionId } });
          took(permissions, { params, signal, answer, choose, fail });
        }),
    );
  if (options.terminal !== undefined) addTerminal(app, options.terminal, (asked) => took(terminals, asked));

  /** Records each message before the SDK gets it. Answers to raw requests do not reach the SDK. */
  const tap = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      took(wire, message);
      const isAnswer = "id" in message && !("method" in message);
      const own = isAnswer ? byHand.get(String(message.id)) : undefined;
      if (own !== undefined) own(message as AnyResponse);
      else if (!isAnswer || message.id !== null) controller.enqueue(message);
    },
  });
  const stream = ndJsonStream(
    // Not `toWeb`, which loses data while raw lines fill the pipe.
    new WritableStream<Uint8Array>({
      write: (chunk) => new Promise((done) => to.write(chunk, () => done())),
    }),
    Reading.toWeb(from) as unknown as ReadableStream<Uint8Array>,
  );
  const { agent } = app.connect({ writable: stream.writable, readable: stream.readable.pipeThrough(tap) });

  const shown: Editor["shown"] = (sessionId, ...kinds) =>
    updates.flatMap((one) =>
      one.sessionId === sessionId && (kinds.length === 0 || kinds.includes(one.update.sessionUpdate))
        ? [one.update]
        : [],
    );
  const write = (line: string): void => void to.write(`${line}\n`);
  return {
    agent,
    wire,
    updates,
    permissions,
    terminals,
    until: changes.until,
    asked() {
      const at = isAsked;
      isAsked += 1;
      return changes.until(() => permissions[at]);
    },
    initialize: (capabilities = {}, protocolVersion = 1) => {
      const clientCapabilities = { terminal: options.terminal !== undefined, ...capabilities };
      return agent.request("initialize", { protocolVersion, clientCapabilities });
    },
    open: () => agent.request("session/new", { cwd: options.cwd, mcpServers: [] }),
    prompt: (sessionId, said) =>
      agent.request("session/prompt", {
        sessionId,
        prompt: typeof said === "string" ? [{ type: "text", text: said }] : [...said],
      }),
    shown,
    words: (sessionId) =>
      shown(sessionId, "agent_message_chunk")
        .map((update) => ("content" in update ? textIn(update.content) : ""))
        .join(""),
    call(method, params) {
      calls += 1;
      const id = `by-hand-${calls}`;
      const answer = new Promise<AnyResponse>((resolve) => byHand.set(id, resolve));
      write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      return answer;
    },
    write,
    hangUp: () => void to.end(),
  };
}

/** The error of an answer, if it has one. */
export function errorIn(
  answer: AnyResponse,
): { readonly code: number; readonly message: string; readonly data?: unknown } | undefined {
  return "error" in answer ? answer.error : undefined;
}

function textIn(content: unknown): string {
  const { text } = (content ?? {}) as { readonly text?: unknown };
  return typeof text === "string" ? text : "";
}

function addTerminal(
  app: ReturnType<typeof client>,
  run: NonNullable<EditorOptions["terminal"]>,
  took: (asked: { method: string; params: unknown }) => void,
): void {
  const running = new Map<string, Promise<TerminalRun | { readonly signal: string }>>();
  const kills = new Map<string, () => void>();
  const ended = async (id: string) => (await running.get(id)) ?? { signal: "SIGKILL" };
  app
    .onRequest("terminal/create", ({ method, params }) => {
      took({ method, params });
      const terminalId = `terminal-${running.size + 1}`;
      const killed = new Promise<{ readonly signal: string }>((resolve) => {
        kills.set(terminalId, () => resolve({ signal: "SIGKILL" }));
      });
      running.set(terminalId, Promise.race([killed, Promise.resolve(run(params))]));
      return { terminalId };
    })
    .onRequest("terminal/wait_for_exit", async ({ method, params }) => {
      took({ method, params });
      const end = await ended(params.terminalId);
      return "signal" in end ? end : { exitCode: end.exitCode ?? 0 };
    })
    .onRequest("terminal/output", async ({ method, params }) => {
      took({ method, params });
      const end = await ended(params.terminalId);
      return { output: "output" in end ? end.output : "", truncated: false };
    })
    .onRequest("terminal/kill", ({ method, params }) => {
      took({ method, params });
      kills.get(params.terminalId)?.();
    })
    .onRequest("terminal/release", ({ method, params }) => took({ method, params }));
}
