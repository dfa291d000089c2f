import { systemZone } from "../../../system/system-clock.ts";
import type { Layers, LayerValues, SettingOrigin } from "../../config/layers.ts";
import { findSetting, SETTINGS, type Setting, type SettingValue } from "../../config/settings.ts";

/** One line of `config show`. */
export interface EffectiveSetting {
  readonly key: string;
  readonly setting: Setting;
  readonly value?: SettingValue;
  readonly origin: SettingOrigin;
}

/** The effective settings in the order of the documentation: each that is set, and each that has a default. */
export function listEffectiveSettings({ values }: Layers, only?: string): EffectiveSetting[] {
  const isAsked = (key: string): boolean => only === undefined || key === only || key.startsWith(`${only}.`);
  const rank = new Map(SETTINGS.map(({ key }, at) => [key, at]));
  const set = [...values].flatMap(([key, { value, origin }]): EffectiveSetting[] => {
    const setting = findSetting(key.split("."));
    return setting === undefined ? [] : [{ key, setting, value, origin }];
  });
  const others = SETTINGS.filter(({ key }) => !values.has(key) && isGeneral(key, only)).map(
    (setting): EffectiveSetting => {
      const { key, default: value = getImpliedDefault(key, values) } = setting;
      return { key, setting, ...(value !== undefined && { value }), origin: { from: "default" } };
    },
  );
  return [...set, ...others]
    .filter(({ key }) => isAsked(key))
    .toSorted((a, b) => (rank.get(a.setting.key) ?? 0) - (rank.get(b.setting.key) ?? 0));
}

/** Defaults that depend on the machine or on other settings. */
function getImpliedDefault(key: string, values: LayerValues): SettingValue | undefined {
  if (key === "timezone") return systemZone();
  return key === "platforms.telegram.enabled" ? values.has("platforms.telegram.token") : undefined;
}

/** Settings per platform or chat type are shown only when they are set or requested. */
function isGeneral(key: string, only: string | undefined): boolean {
  if (key.includes("*")) return false;
  if (only !== undefined && key.startsWith(only)) return true;
  return !/^(?:reset_by_|platforms\.|tools\.by_platform\.)/.test(key) || /^platforms\.telegram\./.test(key);
}

export const SETTING_MASK = "********";

/** The value without secrets: a secret becomes a placeholder, and an address loses its password. */
export function maskValue({
  setting,
  value,
}: Pick<EffectiveSetting, "setting" | "value">): SettingValue | null {
  if (value === undefined) return null;
  if (setting.secret === true) return SETTING_MASK;
  if (setting.kind.type === "address") return removePassword(String(value));
  return value;
}

function removePassword(address: string): string {
  if (!URL.canParse(address)) return SETTING_MASK;
  const url = new URL(address);
  if (url.username === "" && url.password === "" && url.search === "") return address;
  if (url.username !== "") url.username = "***";
  if (url.password !== "") url.password = "***";
  if (url.search !== "") url.search = "?***";
  return url.href;
}

export function formatOrigin(origin: SettingOrigin): string {
  if (origin.from === "environment") return `$${origin.variable}`;
  return origin.from === "file" ? `${origin.file}:${origin.line}` : "default";
}

export function formatOriginJson(origin: SettingOrigin): object {
  return {
    from: origin.from,
    file: origin.from === "file" ? origin.file : null,
    line: origin.from === "file" ? origin.line : null,
    variable: origin.from === "environment" ? origin.variable : null,
  };
}
