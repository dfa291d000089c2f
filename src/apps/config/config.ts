import type { AccessRule, AccessRules } from "../../core/access.ts";
import type { BusyMode } from "../../core/conversation.ts";
import type { ConfiguredPlatform, GatewaySettings } from "../../core/gateway-settings.ts";
import { listKnownPlatforms } from "../../core/platforms.ts";
import type { Privacy } from "../../core/redaction.ts";
import { type ResetPolicy, type ResetSettings, resetPolicyFromJson } from "../../core/reset-policy.ts";
import type { HomeChannel } from "../../core/session-context.ts";
import type { ToolName, ToolSettings } from "../../core/tool-settings.ts";
import { systemZone } from "../../system/system-clock.ts";
import type { ModelSettings } from "../select-model.ts";
import type { Layers, LayerValues } from "./layers.ts";
import { SETTINGS, type SettingValue } from "./settings.ts";

/** The typed configuration. */
export interface Config {
  readonly gateway: GatewaySettings;
  readonly platforms: { readonly telegram: TelegramConfig };
  /** The model settings. `selectModel` combines them with the keys of the environment. */
  readonly model: ModelSettings;
  readonly log: { readonly level: LogLevel };
  /** The address of the PostgreSQL server with the data. Absent: the home's own database file. */
  readonly store?: string;
  /** The name of this gateway among those that share the store. */
  readonly gatewayName?: string;
  /** Files and packages, as the home's file names them. */
  readonly plugins: readonly string[];
}

export interface TelegramConfig {
  /** Whether the gateway connects it: explicitly enabled, or a token is set. */
  readonly enabled: boolean;
  readonly token?: string;
  /** In groups, the agent answers only when addressed. */
  readonly requireMention: boolean;
  /** Which parts of an answer reply to the original message. */
  readonly replyTo: "off" | "first" | "all";
  readonly homeChannel?: HomeChannel;
}

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Builds the configuration from checked values. It calls `homeKey` only when redaction needs it. */
export function buildConfig(
  { values, fromFiles }: Pick<Layers, "values" | "fromFiles">,
  homeKey: () => string,
): Config {
  const given = (key: string): SettingValue | undefined => values.get(key)?.value;
  const value = <T extends SettingValue>(key: string): T => (given(key) ?? DEFAULTS.get(key)) as T;
  const compression = value<boolean>("compression.enabled");
  const instructions = given("instructions");
  const homes = listHomeChannels(given);
  const [store, gatewayName, maxTurns] = [given("store"), given("gateway.name"), given("gateway.max_turns")];
  return {
    gateway: {
      // Lazy, because detecting the zone takes as long as reading all the rest.
      get zone() {
        return (given("timezone") as string | undefined) ?? systemZone();
      },
      profile: value("profile"),
      reset: buildResetSettings(values),
      scope: {
        groupsPerUser: value("group_sessions_per_user"),
        threadsPerUser: value("thread_sessions_per_user"),
      },
      privacy: buildPrivacy(value("privacy.redact_pii"), homeKey),
      access: buildAccessRules(given),
      busy: value<BusyMode>("gateway.busy"),
      maxPending: value("gateway.most_waiting"),
      turnMinutes: value("gateway.turn_minutes"),
      ...(maxTurns !== undefined && { maxTurns: Number(maxTurns) }),
      streaming: value("gateway.streaming"),
      ...(instructions !== undefined && { instructions: String(instructions) }),
      personalities: Object.fromEntries(
        listBelow(values, "personalities").map(([name, text]) => [name, String(text)]),
      ),
      ...(compression && { compressAt: value<number>("compression.at") }),
      tools: buildToolSettings(values, given, value),
      memory: { enabled: value("memory.enabled"), flush: value("memory.flush") },
      homes,
      platforms: listConfiguredPlatforms(values, given),
    },
    platforms: { telegram: buildTelegramConfig(given, value, homes) },
    model: buildModelSettings((key) => fromFiles.get(key)?.value),
    log: { level: value<LogLevel>("log.level") },
    ...(store !== undefined && { store: String(store) }),
    ...(gatewayName !== undefined && { gatewayName: String(gatewayName) }),
    plugins: value<readonly string[]>("plugins"),
  };
}

const DEFAULTS: ReadonlyMap<string, SettingValue> = new Map(
  SETTINGS.flatMap(({ key, default: value }) => (value === undefined ? [] : [[key, value] as const])),
);

type SettingReader = (key: string) => SettingValue | undefined;

/** The values in a section, with the rest of each key. */
function listBelow(values: LayerValues, section: string): [string, SettingValue][] {
  return [...values].flatMap(([key, { value }]) =>
    key.startsWith(`${section}.`) ? [[key.slice(section.length + 1), value] as [string, SettingValue]] : [],
  );
}

/** An override replaces the general policy completely: omitted fields get the built-in defaults. */
function buildResetSettings(values: LayerValues): ResetSettings {
  const policy = (section: string): ResetPolicy =>
    resetPolicyFromJson(Object.fromEntries(listBelow(values, section)), section);
  const policies = (section: string): Readonly<Record<string, ResetPolicy>> => {
    const names = new Set(listBelow(values, section).map(([key]) => key.split(".")[0] ?? ""));
    return Object.fromEntries([...names].map((name) => [name, policy(`${section}.${name}`)]));
  };
  return {
    default: policy("session_reset"),
    byPlatform: policies("reset_by_platform"),
    byType: policies("reset_by_type"),
  };
}

function buildPrivacy(redact: string, homeKey: () => string): Privacy {
  if (redact === "strict") return { redactPii: "strict", homeKey: homeKey() };
  return { redactPii: redact === "true" };
}

function buildAccessRules(given: SettingReader): AccessRules {
  const rule = (section: string): AccessRule => {
    const [allowAll, allow, strangers] = ["allow_all", "allow", "strangers"].map((name) =>
      given(`${section}.${name}`),
    );
    return {
      ...(allowAll !== undefined && { allowAll: allowAll === true }),
      ...(allow !== undefined && { allow: allow as readonly string[] }),
      ...(strangers !== undefined && { strangers: strangers as "pair" | "ignore" }),
    };
  };
  const rules = listKnownPlatforms().map((platform) => [platform, rule(`platforms.${platform}`)] as const);
  return {
    everywhere: { strangers: "pair", ...rule("access") },
    platforms: Object.fromEntries(rules.filter(([, one]) => Object.keys(one).length > 0)),
  };
}

function buildToolSettings(
  values: LayerValues,
  given: SettingReader,
  value: <T extends SettingValue>(key: string) => T,
): ToolSettings {
  const [workspace, folder] = [given("tools.workspace"), given("tools.folder")];
  const names = (key: string): readonly ToolName[] => value<readonly ToolName[]>(key);
  return {
    owner: names("tools.owner"),
    member: names("tools.member"),
    groups: names("tools.groups"),
    byPlatform: Object.fromEntries(listBelow(values, "tools.by_platform")) as ToolSettings["byPlatform"],
    ...(workspace !== undefined && { workspace: String(workspace) }),
    ...(folder !== undefined && { folder: String(folder) }),
    folders: value<readonly string[]>("tools.folders"),
    environment: value<readonly string[]>("tools.environment"),
    timeoutSeconds: value("tools.timeout_seconds"),
    notifications: value<ToolSettings["notifications"]>("tools.notifications"),
  };
}

function listHomeChannels(given: SettingReader): readonly HomeChannel[] {
  return listKnownPlatforms().flatMap((platform) => {
    const chatId = given(`platforms.${platform}.home_channel`);
    const name = given(`platforms.${platform}.home_channel_name`) ?? "Home";
    return chatId === undefined ? [] : [{ platform, chatId: String(chatId), name: String(name) }];
  });
}

/** Only Telegram has a driver; the configuration may name other platforms for later. */
function listConfiguredPlatforms(values: LayerValues, given: SettingReader): readonly ConfiguredPlatform[] {
  return listKnownPlatforms().flatMap((platform): ConfiguredPlatform[] => {
    if (listBelow(values, `platforms.${platform}`).length === 0) return [];
    if (platform !== "telegram") return [{ platform, state: "unsupported" }];
    return [{ platform, state: isTelegramEnabled(given) ? "enabled" : "disabled" }];
  });
}

function isTelegramEnabled(given: SettingReader): boolean {
  return (given("platforms.telegram.enabled") ?? given("platforms.telegram.token") !== undefined) === true;
}

function buildTelegramConfig(
  given: SettingReader,
  value: <T extends SettingValue>(key: string) => T,
  homes: readonly HomeChannel[],
): TelegramConfig {
  const token = given("platforms.telegram.token");
  const homeChannel = homes.find(({ platform }) => platform === "telegram");
  return {
    enabled: isTelegramEnabled(given),
    ...(token !== undefined && { token: String(token) }),
    requireMention: value("platforms.telegram.require_mention"),
    replyTo: value("platforms.telegram.reply_to"),
    ...(homeChannel !== undefined && { homeChannel }),
  };
}

/** Values of the files only: `selectModel` combines them with environment variables. */
function buildModelSettings(given: SettingReader): ModelSettings {
  const [provider, name, baseUrl, apiKey, window] = ["provider", "name", "base_url", "api_key", "window"].map(
    (key) => given(`model.${key}`),
  );
  return {
    ...(provider !== undefined && { provider: provider as NonNullable<ModelSettings["provider"]> }),
    ...(name !== undefined && { name: String(name) }),
    ...(baseUrl !== undefined && { baseUrl: String(baseUrl) }),
    ...(apiKey !== undefined && { apiKey: String(apiKey) }),
    ...(window !== undefined && { window: Number(window) }),
  };
}
