import { type FSWatcher, unwatchFile, watch, watchFile } from "node:fs";
import { basename, dirname } from "node:path";
import type { Config } from "./config.ts";
import { getHomeConfigFile, getProjectConfigFile, readConfigText } from "./config-files.ts";
import type { ConfigLocation } from "./layers.ts";
import { loadConfig } from "./load-config.ts";

export interface OpenConfigOptions extends ConfigLocation {
  /** Called once for each problem and each ignored setting. */
  notice(text: string): void;
  /** How long a file must stay unchanged before it applies, in milliseconds. Default 100. */
  readonly settleMs?: number;
}

/** A configuration that follows its files. */
export interface OpenConfig {
  /** The newest valid configuration. */
  current(): Config;
  /** Registers a listener for changes. Returns its removal. */
  onChange(listener: (config: Config) => void): () => void;
  close(): void;
}

/**
 * Reads the configuration and follows its files. A change applies when the file has stayed the same for a moment; an
 * invalid file keeps the last valid configuration. Throws `invalid_config` if the first read is invalid.
 */
export function openConfig(options: OpenConfigOptions): OpenConfig {
  const { notice, settleMs = 100 } = options;
  const files = [getHomeConfigFile(options.home), getProjectConfigFile(options.cwd)];
  const listeners = new Set<(config: Config) => void>();
  const reported = new Set<string>();
  // Taken before the read, so that a write in between counts as a change.
  let seen = readTexts(files);
  let current = load();
  let timer: NodeJS.Timeout | undefined;
  let candidate: string | undefined;

  /** A problem that was solved and returns is reported again. */
  function load(): Config {
    const { config, notices } = loadConfig(options);
    for (const text of reported) if (!notices.includes(text)) reported.delete(text);
    for (const text of notices) report(text);
    return config;
  }

  function report(text: string): void {
    if (reported.has(text)) return;
    reported.add(text);
    notice(text);
  }

  function changed(): void {
    clearTimeout(timer);
    timer = setTimeout(look, settleMs).unref();
  }

  /** An editor may write in several steps, so a text applies when two reads agree. */
  function look(): void {
    const text = readTexts(files);
    if (text === seen) candidate = undefined;
    else if (text !== candidate) {
      candidate = text;
      changed();
    } else {
      seen = text;
      candidate = undefined;
      reload();
    }
  }

  function reload(): void {
    let next: Config;
    try {
      next = load();
    } catch (error) {
      report(`${(error as Error).message}\nUntil you fix this, the previous configuration applies.`);
      return;
    }
    if (JSON.stringify(next) === JSON.stringify(current)) return;
    current = next;
    for (const listener of [...listeners]) listener(next);
  }

  const watching = files.map((file) => watchConfigFile(file, settleMs, changed));
  // A write may have come before the watch started.
  if (readTexts(files) !== seen) changed();
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close() {
      clearTimeout(timer);
      listeners.clear();
      for (const stop of watching) stop();
    },
  };
}

function readTexts(files: readonly string[]): string {
  return JSON.stringify(files.map((file) => readConfigText(file)));
}

/** Watches the folder, so that a new or replaced file is noticed; without a watch it polls. */
function watchConfigFile(file: string, everyMs: number, changed: () => void): () => void {
  let watcher: FSWatcher | undefined;
  const ask = (): void => {
    watcher?.close();
    watcher = undefined;
    watchFile(file, { interval: Math.max(everyMs, 500), persistent: false }, changed);
  };
  try {
    watcher = watch(dirname(file), { persistent: false }, (_, name) => {
      if (name === null || name === basename(file)) changed();
    }).on("error", ask);
  } catch {
    ask(); // the folder does not exist yet, or the machine has no watches left
  }
  return () => {
    watcher?.close();
    unwatchFile(file, changed);
  };
}
