import { Readable, Writable } from "node:stream";
import {
  type AuthMethod,
  type ClientCapabilities,
  ndJsonStream,
  RequestError,
} from "@agentclientprotocol/sdk/unstable";
import { HEARTBEAT_MS } from "../../core/runner.ts";
import type { Agent } from "../../ports/agent.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { Sessions } from "../../sessions/sessions.ts";
import { sqliteStore } from "../../stores/sqlite/store.ts";
import { localRunner } from "../../system/local-runner.ts";
import { systemClock } from "../../system/system-clock.ts";
import type { Config } from "../config/config.ts";
import { exitOnLostStore } from "../exit-on-lost-store.ts";
import type { Home } from "../home.ts";
import { createLocalTools } from "../local-tools.ts";
import type { OpenLog } from "../log/open-log.ts";
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
  /** Who answers, as things are now; nobody while no model is connected. */
  agent(): Promise<Agent | undefined>;
  /** The plugins of the home, once `agent` has been called. */
  plugins?(): LoadedPlugins | undefined;
  /** What to do about that. */
  readonly howToConnect: string;
  readonly all: boolean;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Aborts when the program is asked to end. */
  readonly signal: AbortSignal;
  /** For tests: time and chance. */
  readonly clock?: Clock;
}

/** Answers an editor until it goes. Then what is being answered ends, with what there is of it, and is stored. */
export async function serveEditor(options: ServeEditorOptions): Promise<void> {
  const { home, log, howToConnect, clock = systemClock } = options;
  const over = new AbortController();
  const runner = localRunner();
  let answering: Agent | undefined = await options.agent();
  const asked = pendingPrompts();
  let can: ClientCapabilities = {};
  let heart: NodeJS.Timeout | undefined;
  let isBegun = false;
  let ready: Promise<EditorContext> | undefined;

  const noModel = (): RequestError => RequestError.authRequired({ code: "invalid_config" }, howToConnect);
  const METHOD = "model";
  const app = buildEditorApp({
    version: options.version,
    log,
    authMethods: (): AuthMethod[] =>
      answering === undefined ? [{ id: METHOD, name: "Connect a model", description: howToConnect }] : [],
    async authenticate(methodId) {
      if (methodId !== METHOD)
        throw RequestError.invalidParams({ code: "invalid_input" }, "There is no such method.");
      answering = await options.agent();
      if (answering === undefined) throw noModel();
    },
    pendingPrompts: asked,
    onInitialize(said) {
      can = said;
      isBegun = true;
    },
    editor,
  });
  const input = Readable.toWeb(Readable.from(options.input)) as unknown as ReadableStream<Uint8Array>;
  const output = Writable.toWeb(
    new Writable({
      write(chunk, _encoding, done) {
        options.output.write(chunk, () => done());
        // Everything else is loaded when the first answer is out, for which the editor waits.
        if (isBegun && ready === undefined) setImmediate(() => over.signal.aborted || editor());
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
    // In this thread: one person's few writes hardly stop it, and an editor waits for its agent to start.
    const onLost = exitOnLostStore((text) => {
      log.error({ code: "store_lost" }, text);
      process.stderr.write(`postrider: ${text}\n`);
    });
    const store = await sqliteStore({ file: home.database, mode: "in-process", onLost });
    await store.runners.recordHeartbeat({ runner, now: clock.now() });
    heart = setInterval(() => {
      store.runners
        .recordHeartbeat({ runner, now: clock.now() })
        .catch((error: unknown) => log.error({ error }, "no heartbeat"));
    }, HEARTBEAT_MS);
    let sessions: Promise<Sessions> | undefined;
    return {
      store,
      sessions() {
        sessions ??= loadSessions(store, clock, options.config.current());
        return sessions;
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
      findAgent: () => answering,
      requireAgent() {
        if (answering === undefined) throw noModel();
        return answering;
      },
      all: options.all,
      client: connection.client,
      capabilities: () => can,
      threads: new Map(),
      unusedSessions: new Set(),
      pendingPrompts: asked,
      signal: over.signal,
    };
  }
  function editor(): Promise<EditorContext> {
    if (ready !== undefined) return ready;
    // Opened after the end, the home would keep the process running: nobody would close it.
    if (over.signal.aborted) return Promise.reject(RequestError.internalError({}, "The editor is gone."));
    ready = openEditor();
    ready.catch(() => {}); // whoever asks for it meets it
    return ready;
  }

  options.signal.addEventListener("abort", () => connection.close());
  if (options.signal.aborted) connection.close();
  await connection.closed.catch((error: unknown) => log.warn({ error }, "the connection broke"));
  over.abort();
  if (ready === undefined) return; // it has not said a word
  const opened = await ready;
  const { store, threads, localTools } = opened;
  clearInterval(heart);
  try {
    await Promise.allSettled([...threads.values()].map(async (thread) => (await thread).close()));
    const { removeUnusedSessions: removeUnused } = await import("./remove-unused-sessions.ts");
    await removeUnused(opened).catch((error: unknown) => log.warn({ error }, "unused sessions stay"));
    await localTools.processes.close();
    await store.runners.retire({ runner: runner.id });
  } finally {
    await store.close();
  }
}

/** Sessions of editors are named by ids that tell no time: no zone is needed. */
async function loadSessions(store: Store, clock: Clock, { gateway }: Config): Promise<Sessions> {
  const { profile, reset, scope } = gateway;
  const { createSessions } = await import("../../sessions/sessions.ts");
  return createSessions({ store, clock, profile, reset, scope });
}

function toEditorSettings({ gateway }: Config): EditorSettings {
  const { profile, scope, compressAt } = gateway;
  return { profile, scope, promptSettings: gateway, ...(compressAt !== undefined && { compressAt }) };
}
