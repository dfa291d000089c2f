import { findNearestName } from "../../core/command-grammar.ts";
import { listNamesBelow, SETTINGS } from "./settings.ts";

/** Describes an unknown key and suggests a similar one. */
export function describeUnknownKey(path: readonly string[]): string {
  const near = findNearestKey(path);
  if (near !== undefined) return `is not a setting; did you mean ${near}?`;
  const names = (listNamesBelow(path.slice(0, -1)) ?? []).filter((name) => name !== "*");
  return names.length === 0 ? "is not a setting" : `is not a setting; valid names here: ${names.join(", ")}`;
}

/** Longer than any setting: bounds the comparison. */
const MAX_TYPED_LENGTH = 100;

/** A similar name in the same section, or the same name elsewhere: `at_hour` is in `session_reset`. */
export function findNearestKey(path: readonly string[]): string | undefined {
  const above = path.slice(0, -1);
  const typed = path.at(-1) ?? "";
  if (typed.length > MAX_TYPED_LENGTH) return undefined;
  const siblings = findNearName(
    (listNamesBelow(above) ?? []).filter((name) => name !== "*"),
    typed,
  );
  if (siblings !== undefined) return [...above, siblings].join(".");
  const elsewhere = SETTINGS.filter(({ key }) => !key.startsWith("reset_by_")).flatMap(({ key }) =>
    listPrefixes(key.split(".")),
  );
  return elsewhere.find(
    (place) =>
      normalizeName(typed) !== "" && normalizeName(place.split(".").at(-1) ?? "") === normalizeName(typed),
  );
}

/** The key and all its sections: `a`, `a.b`, `a.b.c`. */
function listPrefixes(parts: readonly string[]): string[] {
  return parts.map((_, at) => parts.slice(0, at + 1).join("."));
}

function findNearName(names: readonly string[], typed: string): string | undefined {
  if (normalizeName(typed) === "") return undefined;
  const found = findNearestName(names.map(normalizeName), normalizeName(typed));
  if (found !== undefined) return names.find((name) => normalizeName(name) === found);
  const within = names.filter(
    (name) =>
      normalizeName(name).includes(normalizeName(typed)) ||
      normalizeName(typed).includes(normalizeName(name)),
  );
  return within.length === 1 ? within[0] : undefined;
}

/** Treats `atHour` and `at-hour` as `at_hour`. */
function normalizeName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}
