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
import { systemClock } from "../../sessions/system-clock.ts";
import { localRunner } from "../../stores/sqlite/runners.ts";
import { sqliteStore } from "../../stores/sqlite/store.ts";
import type { Config } from "../config/config.ts";
import type { Home } from "../home.ts";
import type { OpenLog } from "../log/open-log.ts";
import { askedPrompts } from "./asked.ts";
import type { Editor, EditorSettings } from "./editor.ts";
import { LONGEST_LINE, lineLimit } from "./line-limit.ts";
import { editorApp } from "./methods.ts";

export interface ServeOptions {
  readonly home: Home;
  /** The home's store, if it is being opened already, by whoever closes it. */
  readonly store?: Promise<Store>;
  readonly environment: NodeJS.ProcessEnv;
  readonly version: string;
  readonly log: OpenLog;
  readonly config: { current(): Config };
  /** Who answers, as things are now; nobody while no model is connected. */
  agent(): Promise<Agent | undefined>;
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
export async function serveEditor(options: ServeOptions): Promise<void> {
  const { home, log, howToConnect, clock = systemClock } = options;
  const over = new AbortController();
  const runner = localRunner();
  const opening = options.store ?? sqliteStore({ file: home.database, mode: "workers" });
  opening.catch(() => {}); // whoever needs it meets it
  let answering: Agent | undefined = await options.agent();
  const asked = askedPrompts();
  let can: ClientCapabilities = {};
  let heart: NodeJS.Timeout | undefined;
  let isBegun = false;
  let ready: Promise<Editor> | undefined;

  const noModel = (): RequestError => RequestError.authRequired({ code: "invalid_config" }, howToConnect);
  const METHOD = "model";
  const app = editorApp({
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
    asked,
    begin(said) {
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
        if (isBegun && ready === undefined) setImmediate(editor);
      },
    }),
  ) as WritableStream<Uint8Array>;
  const stream = ndJsonStream(output, input.pipeThrough(lineLimit()), {
    maxMessageBytes: LONGEST_LINE + 1024,
  });
  const connection = app.connect(stream);

  async function openEditor(): Promise<Editor> {
    const [store, { createSessions }] = await Promise.all([
      opening,
      import("../../sessions/sessions.ts"),
      import("./requests.ts"),
    ]);
    await store.beat({ runner, now: clock.now() });
    heart = setInterval(() => {
      store
        .beat({ runner, now: clock.now() })
        .catch((error: unknown) => log.error({ error }, "no heartbeat"));
    }, HEARTBEAT_MS);
    const { zone, profile, reset, scope } = options.config.current().gateway;
    return {
      store,
      sessions: createSessions({ store, clock, zone, profile, reset, scope }),
      clock,
      runner: runner.id,
      log,
      environment: options.environment,
      settings: () => settingsOf(options.config.current()),
      answering: () => answering,
      agent() {
        if (answering === undefined) throw noModel();
        return answering;
      },
      all: options.all,
      client: connection.client,
      can: () => can,
      threads: new Map(),
      asked,
      models: new Set(),
      signal: over.signal,
    };
  }
  function editor(): Promise<Editor> {
    if (ready !== undefined) return ready;
    ready = openEditor();
    ready.catch(() => {}); // whoever asks for it meets it
    return ready;
  }

  options.signal.addEventListener("abort", () => connection.close());
  if (options.signal.aborted) connection.close();
  await connection.closed.catch((error: unknown) => log.warn({ error }, "the connection broke"));
  over.abort();
  clearInterval(heart);
  const store = await opening;
  try {
    if (ready === undefined) return; // it has not said a word
    const { threads } = await ready;
    await Promise.all([...threads.values()].map(async (thread) => (await thread).close()));
    await store.retire({ runner: runner.id });
  } finally {
    clearInterval(heart);
    if (options.store === undefined) await store.close();
  }
}

function settingsOf({ gateway }: Config): EditorSettings {
  const { zone, profile, scope, compressAt } = gateway;
  return { zone, profile, scope, told: gateway, ...(compressAt !== undefined && { compressAt }) };
}
