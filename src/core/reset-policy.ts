import { PostriderError } from "./errors.ts";
import { EDITOR_PLATFORM } from "./platforms.ts";

export { type ResetInstants, type ResetReason, resetReason } from "./reset-reason.ts";

/** idle: after a silence; daily: at an hour of the day; both: whichever comes first; none: never. */
export type ResetMode = "idle" | "daily" | "both" | "none";

const RESET_MODES: readonly ResetMode[] = ["idle", "daily", "both", "none"];

/** When a conversation starts fresh by itself, and whether the person is told. */
export interface ResetPolicy {
  readonly mode: ResetMode;
  readonly atHour: number;
  readonly idleMinutes: number;
  readonly notify: boolean;
  readonly notifyExcludePlatforms: readonly string[];
}

/** The default of messengers and the terminal. */
export const DEFAULT_RESET_POLICY: ResetPolicy = {
  mode: "both",
  atHour: 4,
  idleMinutes: 1440,
  notify: true,
  notifyExcludePlatforms: ["api_server", "webhook"],
};

/** The default of sessions addressed by id (editor, web page, library): whoever names one means that one. */
export const NO_RESET: ResetPolicy = { ...DEFAULT_RESET_POLICY, mode: "none" };

export interface ResetSettings {
  readonly default: ResetPolicy;
  readonly byType: Readonly<Record<string, ResetPolicy>>;
  readonly byPlatform: Readonly<Record<string, ResetPolicy>>;
}

/**
 * The policy of a platform, else of a chat type, else the default; the first that exists counts as a whole. A thread of an
 * editor is one session, whatever is configured.
 */
export function resolveResetPolicy(settings: ResetSettings, platform: string, chatType: string): ResetPolicy {
  if (platform === EDITOR_PLATFORM) return NO_RESET;
  return getOwn(settings.byPlatform, platform) ?? getOwn(settings.byType, chatType) ?? settings.default;
}

// Names come from outside: "constructor" is a legal chat type and not a policy.
function getOwn<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** With the names that configuration and exports use. */
export function resetPolicyToJson(policy: ResetPolicy): Fields {
  return {
    mode: policy.mode,
    at_hour: policy.atHour,
    idle_minutes: policy.idleMinutes,
    notify: policy.notify,
    notify_exclude_platforms: policy.notifyExcludePlatforms,
  };
}

const POLICY_KEYS: readonly string[] = Object.keys(resetPolicyToJson(DEFAULT_RESET_POLICY));

/** Missing and null values take the built-in default; what is not valid is refused by the path of its key. */
export function resetPolicyFromJson(json: unknown, path: string): ResetPolicy {
  return parsePolicy(parseFields(json, path, POLICY_KEYS), path);
}

/** `{ …the default policy's fields, by_type: { … }, by_platform: { … } }` */
export function resetSettingsFromJson(json: unknown, path = "session_reset"): ResetSettings {
  const given = parseFields(json, path, [...POLICY_KEYS, "by_type", "by_platform"]);
  const policies = (key: string, check?: (name: string, path: string) => void) => {
    const entries = Object.entries(parseFields(given[key], `${path}.${key}`)).flatMap(([name, policy]) => {
      check?.(name, `${path}.${key}.${name}`);
      return policy === null ? [] : [[name, resetPolicyFromJson(policy, `${path}.${key}.${name}`)] as const];
    });
    return Object.fromEntries(entries);
  };
  return {
    default: parsePolicy(given, path),
    byType: policies("by_type"),
    byPlatform: policies("by_platform", assertPlatform),
  };
}

function parsePolicy(given: Fields, path: string): ResetPolicy {
  const value = <T>(key: string, otherwise: T, valid: (value: unknown) => value is T, wanted: string): T => {
    const found = given[key] ?? otherwise;
    if (valid(found)) return found;
    throw invalid(`${path}.${key}`, `must be ${wanted}, not ${formatValue(found)}`);
  };
  const { mode, atHour, idleMinutes, notify, notifyExcludePlatforms } = DEFAULT_RESET_POLICY;
  const policy: ResetPolicy = {
    mode: value("mode", mode, isMode, `one of ${RESET_MODES.join(", ")}`),
    atHour: value("at_hour", atHour, isHour, "a whole number from 0 to 23"),
    idleMinutes: value("idle_minutes", idleMinutes, isPositive, "a whole number of at least 1"),
    notify: value("notify", notify, isBoolean, "true or false"),
    notifyExcludePlatforms: value(
      "notify_exclude_platforms",
      notifyExcludePlatforms,
      isNames,
      "a list of platform names",
    ),
  };
  for (const name of policy.notifyExcludePlatforms) assertPlatform(name, `${path}.notify_exclude_platforms`);
  return policy;
}

const isMode = (value: unknown): value is ResetMode => RESET_MODES.some((mode) => mode === value);
const isPositive = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
const isHour = (value: unknown): value is number => value === 0 || (isPositive(value) && value <= 23);
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

// A name that can never match would be a policy that silently never applies.
function assertPlatform(name: string, path: string): void {
  const right = name.trim().toLowerCase();
  if (right === "") throw invalid(path, "names a platform without a name");
  if (right !== name) throw invalid(path, `names a platform that is written ${formatValue(right)}`);
}

function parseFields(json: unknown, path: string, valid?: readonly string[]): Fields {
  if (json === undefined || json === null) return {};
  if (typeof json !== "object" || Array.isArray(json)) {
    throw invalid(path, `must be a mapping of names to values, not ${formatValue(json)}`);
  }
  const unknown = valid && Object.keys(json).find((key) => !valid.includes(key));
  if (valid === undefined || unknown === undefined) return { ...json };
  const plain = (key: string) => key.toLowerCase().replaceAll(/[^a-z]/g, "");
  const near = valid.find(
    (key) => plain(key).includes(plain(unknown)) || plain(unknown).includes(plain(key)),
  );
  const hint = near === undefined || plain(unknown) === "" ? "" : `did you mean ${near}? `;
  throw invalid(`${path}.${unknown}`, `is not a setting; ${hint}valid are ${valid.join(", ")}`);
}

function formatValue(value: unknown): string {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function invalid(path: string, problem: string): PostriderError {
  return new PostriderError("invalid_config", `${path} ${problem}.`, { details: { path } });
}
