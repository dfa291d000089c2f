import { serveEditor } from "../../acp/serve-editor.ts";
import { chooseAgent } from "../../choose-agent.ts";
import type { LogLevel } from "../../config/config.ts";
import { followOptionalConfig } from "../../config/optional-config.ts";
import { openLog } from "../../log/open-log.ts";
import { collectSecrets } from "../../log/secrets.ts";
import { loadConfiguredPlugins } from "../../plugins/configured-plugins.ts";
import type { LoadedPlugins } from "../../plugins/load-plugins.ts";
import { onShutdownSignals } from "../../shutdown-signals.ts";
import { locateConfig } from "../config/local-config.ts";
import type { Io } from "../io.ts";
import { readVersion } from "../version.ts";

const HOW_TO_CONNECT =
  "No model is connected. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY in the editor's environment, or model in the config.yaml of Postrider's home, and try again.";

/** Closing stores what was answered, and ends the editor's MCP servers: each has some seconds. */
const CLOSE_LIMIT_MS = 10_000;

export interface OpenEditorOptions {
  readonly all: boolean;
  readonly agent?: string;
  /** Whatever the configuration says. */
  readonly level?: LogLevel;
}

/** An editor's agent as a command runs it: with the configuration of this place, and a log in the home. */
export async function openEditor(io: Io, request: OpenEditorOptions): Promise<void> {
  const { environment } = io;
  // The output is the protocol's alone.
  console.log = console.info = console.debug = console.warn = console.error;
  const place = locateConfig(io);
  const told: string[] = [];
  let notice = (text: string): unknown => told.push(text);
  const config = followOptionalConfig(place, (text) => notice(text));
  await config.refresh();
  const log = openLog({
    home: place.home,
    name: "editor",
    level: request.level ?? config.current().log.level,
  });
  log.addSecrets(collectSecrets(environment, config.current()));
  notice = (text) => log.warn({}, text);
  told.forEach(notice);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const forgetSignals = onShutdownSignals(end, { limitMs: CLOSE_LIMIT_MS });
  // An editor that reads no more is gone, too; other commands end there and then, but here an answer may be unfinished.
  io.output.removeAllListeners("error");
  io.output.on("error", end);
  // An editor that is gone sends no signal: the same limit holds for closing after it.
  const limitClosing = (): void => void setTimeout(() => process.exit(1), CLOSE_LIMIT_MS).unref();
  io.input.once("end", limitClosing);
  io.output.once("error", limitClosing);
  const crash = (error: unknown): void => {
    log.error({ error }, "something that must not happen has happened, so the editor's agent ends");
    process.exit(1);
  };
  process.on("uncaughtException", crash);
  let plugins: LoadedPlugins | undefined;
  try {
    await serveEditor({
      home: place.home,
      environment,
      version: readVersion(),
      log,
      config,
      howToConnect: HOW_TO_CONNECT,
      all: request.all,
      input: io.input,
      output: io.output,
      signal: ending.signal,
      plugins: () => plugins,
      async agent() {
        await config.refresh();
        const name = request.agent ?? environment.POSTRIDER_AGENT;
        plugins ??= await loadConfiguredPlugins(place.home, config.current(), (text) => log.warn({}, text));
        const { model } = config.current();
        const { agent, hint } = await chooseAgent(name, environment, model, plugins?.agents);
        // Repeating what was said is no help in an editor.
        return hint === undefined ? agent : undefined;
      },
    });
  } finally {
    process.off("uncaughtException", crash);
    forgetSignals();
    io.input.destroy(); // an editor that asks the program to end may keep its side open
    config.close();
    log.close();
  }
}
