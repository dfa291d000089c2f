import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, onTestFinished } from "vitest";
import { script } from "../../src/agents/script.ts";
import { serveEditor } from "../../src/apps/acp/serve-editor.ts";
import { buildConfig, type Config } from "../../src/apps/config/config.ts";
import { makeHome, resolveHome } from "../../src/apps/home.ts";
import type { OpenLog } from "../../src/apps/log/open-log.ts";
import {
  createSessions,
  OWNER,
  type Sessions,
  type Store,
  sqliteStore,
  systemClock,
} from "../../src/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { temporaryFolder } from "../support/folder.ts";
import { type Editor, type EditorOptions, editorAt } from "./editor.ts";

/** The person at the editor. */
export const me: { readonly person: string } = { person: OWNER };
export const HOW_TO_CONNECT = "No model is connected. Connect one.";

/** An editor that this process serves like `postrider acp`. */
export interface ServedEditor extends Editor {
  /** The log entries: message and fields. */
  readonly logged: readonly Logged[];
  /** Resolves when the server would end. */
  readonly ended: Promise<void>;
  /** Like a signal to the server. */
  stop(): void;
}

export interface Logged {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly words: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ServedOptions extends Partial<EditorOptions> {
  /** The agent, looked up again on `authenticate`. Default: the room's agent. */
  agent?(): Agent | undefined;
  /** Also shows sessions of messengers and terminals. */
  readonly all?: boolean;
  /** False: the test sends `initialize` itself. */
  readonly initialized?: boolean;
}

/** A home with a real database, and any number of editors. */
export interface EditorRoom {
  readonly home: string;
  readonly database: string;
  /** The folder of the editors' threads. */
  readonly cwd: string;
  /** Another editor, served by another runner. */
  editor(options?: ServedOptions): Promise<ServedEditor>;
  /** The same database through another connection. */
  look(): Promise<{ readonly store: Store; readonly sessions: Sessions }>;
}

export interface RoomOptions {
  readonly agent: Agent;
  readonly clock?: Clock;
  readonly gateway?: Partial<Config["gateway"]>;
}

/** Closed after the test, which fails if an update did not match the schema of the protocol. */
export function editorRoom({ agent, clock = systemClock, gateway }: RoomOptions): EditorRoom {
  const temporary = temporaryFolder();
  onTestFinished(() => temporary.remove());
  const home = resolveHome({ POSTRIDER_HOME: join(temporary.path, "home") });
  makeHome(home);
  const cwd = join(temporary.path, "project");
  mkdirSync(cwd);
  const standard = buildConfig({ values: new Map(), fromFiles: new Map() }, () => "");
  const config: Config = { ...standard, gateway: { ...standard.gateway, zone: "UTC", ...gateway } };

  return {
    home: home.folder,
    database: home.database,
    cwd,
    async editor(options = {}) {
      const [input, output] = [new PassThrough(), new PassThrough()];
      const ending = new AbortController();
      const logged: Logged[] = [];
      const ended = serveEditor({
        home,
        environment: {},
        version: "1.2.3",
        log: collecting(logged),
        config: { current: () => config },
        agent: async () => (options.agent === undefined ? agent : options.agent()),
        howToConnect: HOW_TO_CONNECT,
        all: options.all ?? false,
        input,
        output,
        signal: ending.signal,
        clock,
      });
      ended.catch(() => {}); // the caller that awaits it gets the error
      const editor = editorAt(input, output, { cwd, ...options });
      onTestFinished(async () => {
        editor.hangUp();
        await ended;
        const sent = editor.wire.filter(
          (message) => "method" in message && message.method === "session/update",
        );
        expect(editor.updates).toHaveLength(sent.length);
      });
      if (options.initialized !== false) await editor.initialize();
      return { ...editor, logged, ended, stop: () => ending.abort() };
    },
    async look() {
      const store = await sqliteStore({ file: home.database, mode: "in-process" });
      onTestFinished(() => store.close());
      return { store, sessions: createSessions({ store, clock, zone: "UTC" }) };
    },
  };
}

/** Repeats the prompt. */
export function repeating(more: Readonly<Record<string, unknown>> = {}): Agent {
  return script({ answers: [{ say: ["You said: ", { echo: true }] }], ...more });
}

function collecting(logged: Logged[]): OpenLog {
  const at =
    (level: Logged["level"]): OpenLog["info"] =>
    (fields, words) =>
      void logged.push({ level, words, fields });
  const nothing = (): void => {};
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    addSecrets: nothing,
    level: nothing,
    close: nothing,
  };
}
