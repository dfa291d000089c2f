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

/** Whoever sits at an editor. */
export const me: { readonly person: string } = { person: OWNER };
export const HOW_TO_CONNECT = "No model is connected. Connect one.";

/** An editor that is served by this process, as `postrider acp` would serve it. */
export interface ServedEditor extends Editor {
  /** What was logged: words and fields. */
  readonly logged: readonly Logged[];
  /** Resolves when the program that serves it would end. */
  readonly ended: Promise<void>;
  /** As a signal to the program. */
  stop(): void;
}

export interface Logged {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly words: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ServedOptions extends Partial<EditorOptions> {
  /** Who answers; asked again when the editor wants to authenticate. Default: the room's agent. */
  agent?(): Agent | undefined;
  /** Sessions that began elsewhere are shown, too. */
  readonly all?: boolean;
  /** False: the test says `initialize` itself. */
  readonly initialized?: boolean;
}

/** A home of its own on a real database, and as many editors in it as are wanted. */
export interface EditorRoom {
  readonly home: string;
  readonly database: string;
  /** The folder that editors work in. */
  readonly cwd: string;
  /** Another editor, served by another runner. */
  editor(options?: ServedOptions): Promise<ServedEditor>;
  /** The same database as another process would have it. */
  look(): Promise<{ readonly store: Store; readonly sessions: Sessions }>;
}

export interface RoomOptions {
  readonly agent: Agent;
  readonly clock?: Clock;
  readonly gateway?: Partial<Config["gateway"]>;
}

/** Everything in it is closed when the test is over, and everything that it showed has been as the protocol wants it. */
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
      ended.catch(() => {}); // whoever waits for it meets it
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

/** Says what was said to it. */
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
