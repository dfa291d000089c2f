import { listKnownPlatforms } from "../../core/platforms.ts";
import { DEFAULT_TOOLS } from "../../core/tool-settings.ts";

/** The type of a setting's value. Files and variables are both read as text. */
export type SettingKind =
  | {
      readonly type:
        | "switch"
        | "text"
        | "word"
        | "id"
        | "ids"
        | "platforms"
        | "tools"
        | "folder"
        | "folders"
        | "variables"
        | "modules"
        | "zone"
        | "address"
        | "name"
        | "redaction";
    }
  | { readonly type: "whole"; readonly least: number; readonly most?: number }
  | { readonly type: "share" }
  /** `falseMeans` is the option for YAML's `false`, `no` and `off`. */
  | { readonly type: "choice"; readonly options: readonly string[]; readonly falseMeans?: string };

/** Kinds with a list as value. */
export function isListKind({ type }: SettingKind): boolean {
  return ["ids", "platforms", "tools", "folders", "variables", "modules"].includes(type);
}

/** A parsed value. */
export type SettingValue = string | number | boolean | readonly string[];

/** The definition of one setting. */
export interface Setting {
  /** The path in the file, joined by dots; `*` matches any name. */
  readonly key: string;
  readonly kind: SettingKind;
  readonly variable?: string;
  /** Absent: no default, or a default that depends on other settings. */
  readonly default?: SettingValue;
  /** Never shown. */
  readonly secret?: true;
}

const SWITCH: SettingKind = { type: "switch" };
const TEXT: SettingKind = { type: "text" };
const WORD: SettingKind = { type: "word" };
const IDS: SettingKind = { type: "ids" };
const TOOLS: SettingKind = { type: "tools" };
const STRANGERS: SettingKind = { type: "choice", options: ["pair", "ignore"] };

/** The defaults of `core/reset-policy.ts`, which short commands do not load; a test compares them. */
const RESET = {
  mode: { kind: { type: "choice", options: ["both", "idle", "daily", "none"] }, default: "both" },
  at_hour: { kind: { type: "whole", least: 0, most: 23 }, default: 4 },
  idle_minutes: { kind: { type: "whole", least: 1 }, default: 1440 },
  notify: { kind: SWITCH, default: true },
  notify_exclude_platforms: { kind: { type: "platforms" }, default: ["api_server", "webhook"] },
} as const satisfies Readonly<Record<string, Omit<Setting, "key">>>;

const RESET_VARIABLES: Readonly<Record<string, string>> = {
  mode: "SESSION_RESET_MODE",
  at_hour: "SESSION_RESET_HOUR",
  idle_minutes: "SESSION_IDLE_MINUTES",
};

function buildResetSettings(section: string): Setting[] {
  const isDefault = section === "session_reset";
  return Object.entries(RESET).map(([name, setting]) => {
    const variable = isDefault ? RESET_VARIABLES[name] : undefined;
    return {
      key: `${section}.${name}`,
      kind: setting.kind,
      ...(variable !== undefined && { variable }),
      ...(isDefault && { default: setting.default }),
    };
  });
}

function buildPlatformSettings(platform: string): Setting[] {
  const name = platform.toUpperCase();
  const at = `platforms.${platform}`;
  return [
    ...(platform === "telegram" ? TELEGRAM : []),
    { key: `${at}.allow`, kind: IDS, variable: `${name}_ALLOWED_USERS` },
    { key: `${at}.allow_all`, kind: SWITCH, variable: `${name}_ALLOW_ALL_USERS` },
    { key: `${at}.strangers`, kind: STRANGERS },
    { key: `${at}.home_channel`, kind: { type: "id" }, variable: `${name}_HOME_CHANNEL` },
    { key: `${at}.home_channel_name`, kind: TEXT, variable: `${name}_HOME_CHANNEL_NAME` },
  ];
}

const TELEGRAM: readonly Setting[] = [
  { key: "platforms.telegram.enabled", kind: SWITCH },
  { key: "platforms.telegram.token", kind: WORD, variable: "TELEGRAM_BOT_TOKEN", secret: true },
  {
    key: "platforms.telegram.require_mention",
    kind: SWITCH,
    variable: "TELEGRAM_REQUIRE_MENTION",
    default: true,
  },
  {
    key: "platforms.telegram.reply_to",
    kind: { type: "choice", options: ["off", "first", "all"] },
    variable: "TELEGRAM_REPLY_TO_MODE",
    default: "first",
  },
];

/** Every setting, in the order of docs/configuration.md. */
export const SETTINGS: readonly Setting[] = [
  { key: "timezone", kind: { type: "zone" }, variable: "POSTRIDER_TIMEZONE" },
  { key: "profile", kind: { type: "name" }, variable: "POSTRIDER_PROFILE", default: "main" },
  ...buildResetSettings("session_reset"),
  ...listKnownPlatforms().flatMap((platform) => buildResetSettings(`reset_by_platform.${platform}`)),
  ...buildResetSettings("reset_by_type.*"),
  {
    key: "group_sessions_per_user",
    kind: SWITCH,
    variable: "POSTRIDER_GROUP_SESSIONS_PER_USER",
    default: true,
  },
  {
    key: "thread_sessions_per_user",
    kind: SWITCH,
    variable: "POSTRIDER_THREAD_SESSIONS_PER_USER",
    default: true,
  },
  {
    key: "privacy.redact_pii",
    kind: { type: "redaction" },
    variable: "POSTRIDER_REDACT_PII",
    default: "false",
  },
  { key: "store", kind: TEXT, variable: "POSTRIDER_STORE", secret: true },
  { key: "access.allow", kind: IDS, variable: "POSTRIDER_ALLOWED_USERS" },
  { key: "access.allow_all", kind: SWITCH, variable: "POSTRIDER_ALLOW_ALL_USERS", default: false },
  { key: "access.strangers", kind: STRANGERS, variable: "POSTRIDER_STRANGERS", default: "pair" },
  ...listKnownPlatforms().flatMap(buildPlatformSettings),
  {
    key: "gateway.busy",
    kind: { type: "choice", options: ["interrupt", "queue", "collect"] },
    variable: "POSTRIDER_BUSY",
    default: "interrupt",
  },
  {
    key: "gateway.most_waiting",
    kind: { type: "whole", least: 1, most: 10_000 },
    variable: "POSTRIDER_MOST_WAITING",
    default: 100,
  },
  {
    key: "gateway.turn_minutes",
    kind: { type: "whole", least: 1, most: 1440 },
    variable: "POSTRIDER_TURN_MINUTES",
    default: 30,
  },
  { key: "gateway.name", kind: WORD, variable: "POSTRIDER_GATEWAY_NAME" },
  {
    key: "gateway.max_turns",
    kind: { type: "whole", least: 0, most: 10_000 },
    variable: "POSTRIDER_MAX_TURNS",
  },
  { key: "gateway.streaming", kind: SWITCH, variable: "POSTRIDER_STREAMING", default: true },
  { key: "tools.owner", kind: TOOLS, default: DEFAULT_TOOLS.owner },
  { key: "tools.member", kind: TOOLS, default: DEFAULT_TOOLS.member },
  { key: "tools.groups", kind: TOOLS, default: DEFAULT_TOOLS.groups },
  ...listKnownPlatforms().map((platform) => ({ key: `tools.by_platform.${platform}`, kind: TOOLS })),
  { key: "tools.workspace", kind: { type: "folder" }, variable: "POSTRIDER_TOOLS_WORKSPACE" },
  { key: "tools.folder", kind: { type: "folder" }, variable: "POSTRIDER_TOOLS_FOLDER" },
  { key: "tools.folders", kind: { type: "folders" }, default: DEFAULT_TOOLS.folders },
  { key: "tools.environment", kind: { type: "variables" }, default: DEFAULT_TOOLS.environment },
  {
    key: "tools.timeout_seconds",
    kind: { type: "whole", least: 1, most: 600 },
    variable: "POSTRIDER_TOOLS_TIMEOUT",
    default: DEFAULT_TOOLS.timeoutSeconds,
  },
  {
    key: "tools.notifications",
    kind: { type: "choice", options: ["all", "result", "error", "off"], falseMeans: "off" },
    variable: "POSTRIDER_BACKGROUND_NOTIFICATIONS",
    default: DEFAULT_TOOLS.notifications,
  },
  { key: "memory.enabled", kind: SWITCH, variable: "POSTRIDER_MEMORY", default: true },
  { key: "memory.flush", kind: SWITCH, variable: "POSTRIDER_MEMORY_FLUSH", default: true },
  { key: "plugins", kind: { type: "modules" }, default: [] },
  { key: "instructions", kind: TEXT, variable: "POSTRIDER_INSTRUCTIONS" },
  { key: "personalities.*", kind: TEXT },
  { key: "compression.enabled", kind: SWITCH, variable: "POSTRIDER_COMPRESSION", default: true },
  { key: "compression.at", kind: { type: "share" }, variable: "POSTRIDER_COMPRESS_AT", default: 0.85 },
  {
    key: "model.provider",
    kind: { type: "choice", options: ["anthropic", "openai", "google", "openrouter", "compatible"] },
    variable: "POSTRIDER_PROVIDER",
  },
  { key: "model.name", kind: { type: "id" }, variable: "POSTRIDER_MODEL" },
  { key: "model.base_url", kind: { type: "address" }, variable: "POSTRIDER_BASE_URL" },
  { key: "model.api_key", kind: WORD, variable: "POSTRIDER_API_KEY", secret: true },
  { key: "model.window", kind: { type: "whole", least: 1000 }, variable: "POSTRIDER_MODEL_WINDOW" },
  {
    key: "log.level",
    kind: { type: "choice", options: ["trace", "debug", "info", "warn", "error", "fatal", "silent"] },
    variable: "POSTRIDER_LOG_LEVEL",
    default: "info",
  },
];

const BY_KEY: ReadonlyMap<string, Setting> = new Map(SETTINGS.map((setting) => [setting.key, setting]));

/** Finds the setting of a path, or of a path inside its value, such as a list index. */
export function findSetting(path: readonly string[]): Setting | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const found = [path.slice(0, length), toWildcardPath(path.slice(0, length))].map((it) =>
      BY_KEY.get(it.join(".")),
    );
    const setting = found.find((it) => it !== undefined);
    if (setting !== undefined) return setting;
  }
  return undefined;
}

/** Turns `reset_by_type.group.mode` into `reset_by_type.*.mode`. */
function toWildcardPath([section = "", , ...rest]: readonly string[]): readonly string[] {
  return [section, "*", ...rest];
}

/** The valid names below a path, or undefined if there are none. `*` matches any name. */
export function listNamesBelow(path: readonly string[]): readonly string[] | undefined {
  const begins = (key: readonly string[]): boolean =>
    key.length > path.length && path.every((part, at) => key[at] === part || key[at] === "*");
  const names = SETTINGS.map(({ key }) => key.split(".")).flatMap((key) =>
    begins(key) ? [key[path.length] ?? ""] : [],
  );
  return names.length === 0 ? undefined : [...new Set(names)];
}

/** Settings that a project's file must not have, because another person may have written it: access, keys, addresses, code. */
export function isHomeOnly(path: readonly string[]): boolean {
  const [section = ""] = path;
  if (["access", "platforms", "privacy", "tools", "memory", "plugins", "store"].includes(section))
    return true;
  if (path.join(".") === "model.provider") return true; // decides where all messages are sent
  return path.some((name) => /token|secret|password|credential|api_?key|base_?url/i.test(name));
}
