import { type FSWatcher, unwatchFile, watch, watchFile } from "node:fs";
import { basename, dirname } from "node:path";
import type { Config } from "./config.ts";
import { getHomeConfigFile, getProjectConfigFile, readConfigText } from "./config-files.ts";
import type { ConfigLocation } from "./layers.ts";
import { loadConfig } from "./load-config.ts";

export interface OpenConfigOptions extends ConfigLocation {
  /** Told once about each problem, and about what is ignored. */
  notice(text: string): void;
  /** How long a file must stay as it is before it is believed, in milliseconds. Default 100. */
  readonly settleMs?: number;
}

/** The configuration of a program that runs for long. */
export interface OpenConfig {
  /** The newest that was good. */
  current(): Config;
  /** Called after each change. Returns how to stop that. */
  onChange(listener: (config: Config) => void): () => void;
  close(): void;
}

/**
 * Reads the configuration and follows its files: a file that is changed, replaced, made or removed counts as soon as it
 * stays the same for a moment. While it is broken, the last good one counts. Throws `invalid_config` if the first is.
 */
export function openConfig(options: OpenConfigOptions): OpenConfig {
  const { notice, settleMs = 100 } = options;
  const files = [getHomeConfigFile(options.home), getProjectConfigFile(options.cwd)];
  const listeners = new Set<(config: Config) => void>();
  const told = new Set<string>();
  // Taken before reading: what is written in between is seen as a change.
  let seen = readTexts(files);
  let current = load();
  let timer: NodeJS.Timeout | undefined;
  let candidate: string | undefined;

  /** What is mended and comes again is told again. */
  function load(): Config {
    const { config, notices } = loadConfig(options);
    for (const text of told) if (!notices.includes(text)) told.delete(text);
    for (const text of notices) tell(text);
    return config;
  }

  function tell(text: string): void {
    if (told.has(text)) return;
    told.add(text);
    notice(text);
  }

  function changed(): void {
    clearTimeout(timer);
    timer = setTimeout(look, settleMs).unref();
  }

  /** An editor may write in several steps: a text counts when it is found twice. */
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
      tell(`${(error as Error).message}\nUntil this is mended, the configuration stays as it was.`);
      return;
    }
    if (JSON.stringify(next) === JSON.stringify(current)) return;
    current = next;
    for (const listener of [...listeners]) listener(next);
  }

  const watching = files.map((file) => watchConfigFile(file, settleMs, changed));
  // Something may have been written before the watching began.
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

/** The folder is watched, so that a file made later or put in another's place is seen; where that cannot be, its state is asked for. */
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
    ask(); // no such folder yet, or no watches left on this machine
  }
  return () => {
    watcher?.close();
    unwatchFile(file, changed);
  };
}
