import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { buildConfig, type Config } from "../../src/apps/config/config.ts";
import { loadHomeKey } from "../../src/apps/config/home-key.ts";
import { readLayers } from "../../src/apps/config/layers.ts";
import { resolveHome } from "../../src/apps/home.ts";
import { type Store, sqliteStore } from "../../src/index.ts";
import { endKeeper } from "../support/end-keeper.ts";
import { temporaryFolder } from "../support/folder.ts";

export const INSTRUCTIONS = "Answer like a clerk of the post office.";
export const PIRATE = "You are a pirate and say so.";
export const JUDGE = "You are a judge and weigh every word.";
export const MODEL = "rider-1";
export const API_KEY = "key-of-the-recorded-model";
/** The size of the model's context window; small, so that a test can fill it. */
export const WINDOW = 20_000;
/** Offered by name, in any configured order: the start of a request must stay the same, so that it can be cached. */
export const OWNER_TOOLS: readonly string[] = ["memory", "read_file", "session_search", "terminal"];
export const GROUP_TOOLS: readonly string[] = ["memory", "session_search"];

export interface FullHome {
  /** The working folder of the processes. */
  readonly folder: string;
  readonly home: string;
  /** The environment of a process in this home: the model comes from the configuration. */
  readonly environment: Readonly<Record<string, string>>;
  /** The database through another connection. */
  openStore(): Promise<Store>;
  /** Adds a setting at the top level of the configuration, as a person does who edits the file. */
  configure(more: Readonly<Record<string, unknown>>): void;
  /** The key of strict redaction. */
  key(): Uint8Array;
  /** The configuration as a process reads it. */
  config(): Config;
}

export interface FullHomeOptions {
  /** Base URL of the model endpoint. */
  readonly url: string;
  readonly provider?: "anthropic" | "openai" | "compatible";
  readonly redactPii?: boolean | "strict";
}

/** A home with every setting that affects a model request. */
export function fullHome({ url, provider = "compatible", redactPii = true }: FullHomeOptions): FullHome {
  const temporary = temporaryFolder();
  const home = join(temporary.path, "home");
  onTestFinished(async () => {
    await endKeeper(home);
    temporary.remove();
  });
  const folder = join(temporary.path, "project");
  mkdirSync(folder);
  mkdirSync(home, { mode: 0o700 });
  const settings = {
    timezone: "UTC",
    instructions: INSTRUCTIONS,
    personalities: { pirate: PIRATE, judge: JUDGE },
    privacy: { redact_pii: redactPii },
    group_sessions_per_user: false,
    session_reset: { mode: "idle", idle_minutes: 600 },
    reset_by_platform: {
      telegram: { mode: "idle", idle_minutes: 90, notify: true },
      signal: { mode: "daily", at_hour: 6, notify: true },
    },
    platforms: {
      telegram: { require_mention: false, home_channel: -1001234567, home_channel_name: "Den" },
      signal: { home_channel: "group:barn-4711", home_channel_name: "Barn" },
    },
    model: { provider, name: MODEL, base_url: url, api_key: API_KEY, window: WINDOW },
    tools: { owner: OWNER_TOOLS.toReversed(), member: GROUP_TOOLS, groups: GROUP_TOOLS },
    gateway: { streaming: false },
  };
  const configure = (more: Readonly<Record<string, unknown>>): void => {
    // JSON is YAML.
    const text = JSON.stringify({ ...settings, ...more }, undefined, 2);
    writeFileSync(join(home, "config.yaml"), text, { mode: 0o600 });
  };
  configure({});
  const place = { home: resolveHome({ POSTRIDER_HOME: home }), environment: {}, cwd: folder };
  return {
    folder,
    home,
    environment: { POSTRIDER_HOME: home, POSTRIDER_AGENT: "model" },
    configure,
    async openStore() {
      const store = await sqliteStore({ file: place.home.database, mode: "in-process" });
      onTestFinished(() => store.close());
      return store;
    },
    key: () => new Uint8Array(Buffer.from(loadHomeKey(place.home), "hex")),
    config: () => buildConfig(readLayers(place), () => loadHomeKey(place.home)),
  };
}
