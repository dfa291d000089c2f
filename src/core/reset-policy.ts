import { PostriderError } from "./errors.ts";
import { EDITOR_PLATFORM } from "./platforms.ts";

export { type ResetInstants, type ResetReason, resetReason } from "./reset-reason.ts";

/** `idle`: after a time without activity; `daily`: at an hour of the day; `both`: whichever comes first; `none`: never. */
export type ResetMode = "idle" | "daily" | "both" | "none";

const RESET_MODES: readonly ResetMode[] = ["idle", "daily", "both", "none"];

/** When a conversation is reset automatically, and whether the person is notified. */
export interface ResetPolicy {
  readonly mode: ResetMode;
  readonly atHour: number;
  readonly idleMinutes: number;
  readonly notify: boolean;
  readonly notifyExcludePlatforms: readonly string[];
}

/** The default for messengers and the terminal. */
export const DEFAULT_RESET_POLICY: ResetPolicy = {
  mode: "both",
  atHour: 4,
  idleMinutes: 1440,
  notify: true,
  notifyExcludePlatforms: ["api_server", "webhook"],
};

/** The default for sessions that are addressed by id (editor, web page, library). */
export const NO_RESET: ResetPolicy = { ...DEFAULT_RESET_POLICY, mode: "none" };

export interface ResetSettings {
  readonly default: ResetPolicy;
  readonly byType: Readonly<Record<string, ResetPolicy>>;
  readonly byPlatform: Readonly<Record<string, ResetPolicy>>;
}

/**
 * The policy of the platform, else of the chat type, else the default; fields are not merged. A thread of an editor is always
 * one session.
 */
export function resolveResetPolicy(settings: ResetSettings, platform: string, chatType: string): ResetPolicy {
  if (platform === EDITOR_PLATFORM) return NO_RESET;
  return getOwn(settings.byPlatform, platform) ?? getOwn(settings.byType, chatType) ?? settings.default;
}

// Names come from outside: "constructor" is a valid chat type.
function getOwn<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

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

/** Missing and null values get the default. The error for an invalid value contains the path of its key. */
export function resetPolicyFromJson(json: unknown, path: string): ResetPolicy {
  return parsePolicy(parseFields(json, path, POLICY_KEYS), path);
}

/** `{ …the default policy's fields, by_type: { … }, by_platform: { … } }` */
export function resetSettingsFromJson(json: unknown, path = "session_reset"): ResetSettings {
  const fields = parseFields(json, path, [...POLICY_KEYS, "by_type", "by_platform"]);
  const policies = (key: string, check?: (name: string, path: string) => void) => {
    const entries = Object.entries(parseFields(fields[key], `${path}.${key}`)).flatMap(([name, policy]) => {
      check?.(name, `${path}.${key}.${name}`);
      return policy === null ? [] : [[name, resetPolicyFromJson(policy, `${path}.${key}.${name}`)] as const];
    });
    return Object.fromEntries(entries);
  };
  return {
    default: parsePolicy(fields, path),
    byType: policies("by_type"),
    byPlatform: policies("by_platform", assertPlatform),
  };
}

function parsePolicy(fields: Fields, path: string): ResetPolicy {
  const value = <T>(
    key: string,
    fallback: T,
    isValid: (value: unknown) => value is T,
    expected: string,
  ): T => {
    const found = fields[key] ?? fallback;
    if (isValid(found)) return found;
    throw invalid(`${path}.${key}`, `must be ${expected}, not ${formatValue(found)}`);
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

// A policy with a name that never matches would silently never apply.
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
