import { Readable, Writable } from "node:stream";
import {
  type AuthMethod,
  type ClientCapabilities,
  ndJsonStream,
  RequestError,
} from "@agentclientprotocol/sdk/unstable";
import { OWNER } from "../../core/owner.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import type { StoredEditorSessions } from "../../sessions/stored-editor-sessions.ts";
import { localRunner } from "../../system/local-runner.ts";
import { type RunnerLife, runnerLife } from "../../system/runner-life.ts";
import { systemClock } from "../../system/system-clock.ts";
import type { Config } from "../config/config.ts";
import { exitOnLostStore } from "../exit-on-lost-store.ts";
import type { Home } from "../home.ts";
import { createLocalTools } from "../local-tools.ts";
import type { OpenLog } from "../log/open-log.ts";
import { openHomeStore } from "../open-store.ts";
import type { LoadedPlugins } from "../plugins/load-plugins.ts";
import type { EditorContext, EditorSettings } from "./editor-context.ts";
import { limitLineLength, MAX_REQUEST_BYTES } from "./line-limit.ts";
import { leaveOutMalformedServers } from "./mcp-entries.ts";
import { buildEditorApp } from "./methods.ts";
import { pendingPrompts } from "./pending-prompts.ts";

export interface ServeEditorOptions {
  readonly home: Home;
  readonly environment: NodeJS.ProcessEnv;
  readonly version: string;
  readonly log: OpenLog;
  readonly config: { current(): Config };
  /** Looks for a model. `undefined` while none is connected. */
  agent(): Promise<Agent | undefined>;
  /** The plugins of the home, once `agent` has been called. */
  plugins?(): LoadedPlugins | undefined;
  /** The sentence for an editor without a model. */
  readonly howToConnect: string;
  readonly all: boolean;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Aborts on shutdown. */
  readonly signal: AbortSignal;
  /** For tests. */
  readonly clock?: Clock;
}

/** Serves an editor until the connection closes. Then running turns end, and their partial answers are stored. */
export async function serveEditor(options: ServeEditorOptions): Promise<void> {
  const { home, log, howToConnect, clock = systemClock } = options;
  const disconnected = new AbortController();
  const runner = localRunner();
  let agent: Agent | undefined = await options.agent();
  const prompts = pendingPrompts();
  let capabilities: ClientCapabilities = {};
  let life: RunnerLife | undefined;
  let isInitialized = false;
  let ready: Promise<EditorContext> | undefined;

  const noModel = (): RequestError => RequestError.authRequired({ code: "invalid_config" }, howToConnect);
  const METHOD = "model";
  const app = buildEditorApp({
    version: options.version,
    log,
    authMethods: (): AuthMethod[] =>
      agent === undefined ? [{ id: METHOD, name: "Connect a model", description: howToConnect }] : [],
    async authenticate(methodId) {
      if (methodId !== METHOD)
        throw RequestError.invalidParams({ code: "invalid_input" }, "There is no such method.");
      agent = await options.agent();
      if (agent === undefined) throw noModel();
    },
    pendingPrompts: prompts,
    onInitialize(sent) {
      capabilities = sent;
      isInitialized = true;
    },
    editor,
  });
  const input = Readable.toWeb(Readable.from(options.input)) as unknown as ReadableStream<Uint8Array>;
  const output = Writable.toWeb(
    new Writable({
      write(chunk, _encoding, done) {
        options.output.write(chunk, () => done());
        // The editor waits for the first answer: load the rest after it.
        if (isInitialized && ready === undefined) setImmediate(() => disconnected.signal.aborted || editor());
      },
    }),
  ) as WritableStream<Uint8Array>;
  const stream = ndJsonStream(output, input.pipeThrough(limitLineLength()), {
    maxMessageBytes: MAX_REQUEST_BYTES + 1024,
  });
  const connection = app.connect({
    writable: stream.writable,
    readable: stream.readable.pipeThrough(leaveOutMalformedServers()),
  });

  async function openEditor(): Promise<EditorContext> {
    // In process: one person writes little, and the editor waits for the start.
    const onLost = exitOnLostStore((text) => {
      log.error({ code: "store_lost" }, text);
      process.stderr.write(`postrider: ${text}\n`);
    });
    const store = await openHomeStore({ home, environment: options.environment, mode: "in-process", onLost });
    const onError = (error: unknown): void =>
      log.error({ error }, "a heartbeat of the editor server failed; the next one follows in 10 s");
    life = await runnerLife({ store, clock, runner, onError });
    let sessions: Promise<Sessions> | undefined;
    let storedSessions: Promise<StoredEditorSessions> | undefined;
    const loadOnce = (): Promise<Sessions> => {
      sessions ??= loadSessions(store, clock, options.config.current());
      return sessions;
    };
    return {
      store,
      sessions: loadOnce,
      storedSessions() {
        storedSessions ??= loadStoredSessions(loadOnce(), clock, options.all);
        return storedSessions;
      },
      clock,
      runner: runner.id,
      log,
      environment: options.environment,
      localTools: createLocalTools({
        home,
        environment: options.environment,
        store,
        clock,
        config: () => options.config.current(),
        customTools: () => options.plugins?.()?.tools ?? [],
      }),
      customCommands: () => options.plugins?.()?.commands ?? [],
      settings: () => toEditorSettings(options.config.current()),
      findAgent: () => agent,
      requireAgent() {
        if (agent === undefined) throw noModel();
        return agent;
      },
      all: options.all,
      client: connection.client,
      capabilities: () => capabilities,
      threads: new Map(),
      unusedSessions: new Set(),
      pendingPrompts: prompts,
      signal: disconnected.signal,
    };
  }
  function editor(): Promise<EditorContext> {
    if (ready !== undefined) return ready;
    // A home that is opened after the end would never be closed.
    if (disconnected.signal.aborted)
      return Promise.reject(RequestError.internalError({}, "The connection to the editor is closed."));
    ready = openEditor();
    ready.catch(() => {}); // the request that needs it gets the error
    return ready;
  }

  options.signal.addEventListener("abort", () => connection.close());
  if (options.signal.aborted) connection.close();
  await connection.closed.catch((error: unknown) =>
    log.warn({ error }, "the connection to the editor failed"),
  );
  disconnected.abort();
  if (ready === undefined) return; // the editor sent no request
  const opened = await ready;
  const { store, threads, localTools } = opened;
  life?.stop();
  try {
    await Promise.allSettled([...threads.values()].map(async (thread) => (await thread).close()));
    const { removeUnusedSessions } = await import("./stored-sessions.ts");
    await removeUnusedSessions(opened).catch((error: unknown) =>
      log.warn({ error }, "unused sessions could not be removed"),
    );
    await localTools.processes.close();
    await life?.retire();
  } finally {
    await store.close();
  }
}

/** The ids of editor sessions contain no time, so no time zone is needed. */
async function loadSessions(store: Store, clock: Clock, { gateway }: Config): Promise<Sessions> {
  const { profile, reset, scope } = gateway;
  const { createSessions } = await import("../../sessions/sessions.ts");
  return createSessions({ store, clock, profile, reset, scope });
}

async function loadStoredSessions(
  sessions: Promise<Sessions>,
  clock: Clock,
  allKinds: boolean,
): Promise<StoredEditorSessions> {
  const { storedEditorSessions } = await import("../../sessions/stored-editor-sessions.ts");
  return storedEditorSessions({ sessions: await sessions, person: OWNER, clock, allKinds });
}

function toEditorSettings({ gateway }: Config): EditorSettings {
  const { profile, scope, compressAt } = gateway;
  return { profile, scope, promptSettings: gateway, ...(compressAt !== undefined && { compressAt }) };
}
