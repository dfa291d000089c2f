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

/** Closing stores partial answers and ends the editor's MCP servers, which takes up to some seconds each. */
const CLOSE_LIMIT_MS = 10_000;

export interface OpenEditorOptions {
  readonly all: boolean;
  readonly agent?: string;
  /** Overrides the configuration. */
  readonly level?: LogLevel;
}

/** Serves an editor with the configuration of the home, and logs to the home. */
export async function openEditor(io: Io, request: OpenEditorOptions): Promise<void> {
  const { environment } = io;
  // Only the protocol may write to stdout.
  console.log = console.info = console.debug = console.warn = console.error;
  const location = locateConfig(io);
  const early: string[] = [];
  let notice = (text: string): unknown => early.push(text);
  const config = followOptionalConfig(location, (text) => notice(text));
  await config.refresh();
  const log = openLog({
    home: location.home,
    name: "editor",
    level: request.level ?? config.current().log.level,
  });
  log.addSecrets(collectSecrets(environment, config.current()));
  notice = (text) => log.warn({}, text);
  early.forEach(notice);
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const forgetSignals = onShutdownSignals(end, { limitMs: CLOSE_LIMIT_MS });
  // A closed output ends other commands at once; here a partial answer must be stored first.
  io.output.removeAllListeners("error");
  io.output.on("error", end);
  // The same limit as for signals: an editor that closes the connection sends none.
  const limitClosing = (): void => void setTimeout(() => process.exit(1), CLOSE_LIMIT_MS).unref();
  io.input.once("end", limitClosing);
  io.output.once("error", limitClosing);
  const crash = (error: unknown): void => {
    log.error({ error }, "the editor process exits after an unexpected error");
    process.exit(1);
  };
  process.on("uncaughtException", crash);
  let plugins: LoadedPlugins | undefined;
  try {
    await serveEditor({
      home: location.home,
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
        plugins ??= await loadConfiguredPlugins(location.home, config.current(), (text) =>
          log.warn({}, text),
        );
        const { model } = config.current();
        const { agent, hint } = await chooseAgent(name, environment, model, plugins?.agents);
        // The echo agent is of no use in an editor.
        return hint === undefined ? agent : undefined;
      },
    });
  } finally {
    process.off("uncaughtException", crash);
    forgetSignals();
    io.input.destroy(); // on a signal, the editor may keep its side open
    config.close();
    log.close();
  }
}
