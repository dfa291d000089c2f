import { homedir } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { findNearestName } from "../../core/command-grammar.ts";
import { PostriderError } from "../../core/errors.ts";
import { listKnownPlatforms } from "../../core/platforms.ts";
import { TOOL_NAMES } from "../../core/tool-settings.ts";
import { assertZone } from "../../core/zone.ts";
import type { Setting, SettingKind, SettingValue } from "./settings.ts";

const ON = ["true", "1", "yes", "on"];
const OFF = ["false", "0", "no", "off"];

const words = z.string().trim().min(1);
const list = z
  .union([z.array(words), z.string().transform((text) => text.split(/[,\n]/))])
  .transform((items) => items.map((item) => item.trim()).filter((item) => item !== ""));

const folder = words
  .refine((path) => (isAbsolute(path) || /^~(?:\/|$)/.test(path)) && !path.includes("\0"))
  .transform(expandHome);

/** Parses the text of a value. */
export function buildValueSchema(kind: SettingKind): z.ZodType<SettingValue> {
  switch (kind.type) {
    case "switch":
      return z.stringbool({ truthy: ON, falsy: OFF });
    case "redaction":
      return z.union([z.literal("strict"), z.stringbool({ truthy: ON, falsy: OFF }).transform(String)]);
    case "whole":
      return z
        .string()
        .trim()
        .regex(/^\+?\d{1,15}$/)
        .transform(Number)
        .pipe(
          z
            .int()
            .min(kind.least)
            .max(kind.most ?? Number.MAX_SAFE_INTEGER),
        );
    case "share":
      return z
        .string()
        .trim()
        .regex(/^\d*\.?\d+$/)
        .transform(Number)
        .pipe(z.number().min(0.1).max(1));
    case "choice":
      return z
        .string()
        .trim()
        .toLowerCase()
        .transform((word) => (kind.falseMeans !== undefined && OFF.includes(word) ? kind.falseMeans : word))
        .pipe(z.enum(kind.options));
    case "zone":
      return words.transform((name, context) => checkZone(name, () => context.addIssue("zone")));
    case "address":
      return words.refine(isAddress);
    case "name":
      return words.regex(NAME_PATTERN);
    case "ids":
      return list.refine((ids) => !ids.includes("*"));
    case "platforms":
      return list.refine((names) => names.every((name) => listKnownPlatforms().includes(name)));
    case "tools":
      return list.transform(expandToolNames).refine((names) => names.every(isTool));
    case "folder":
      return folder;
    case "folders":
      return list.pipe(z.array(folder));
    case "variables":
      return list.refine((names) => names.every((name) => /^[A-Z_][A-Z0-9_]*$/.test(name)));
    case "modules":
      return list.refine((names) => names.every((name) => MODULE_PATTERN.test(name)));
    case "word":
      return words.regex(/^\S+$/);
    case "id":
      return words;
    case "text":
      return z.string().refine((text) => text.trim() !== "");
  }
}

/** A name of a profile, a personality or a chat type. */
export const NAME_PATTERN: RegExp = /^[a-z0-9][a-z0-9_-]{0,39}$/;

/** A path that contains a slash, or the name of a package. */
const MODULE_PATTERN = /^(?:(?:\.{1,2}|~)?\/.*[^/\0]|(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*)$/;

/** Describes the expected value, as the end of "must be …". */
export function describeExpectedValue({ kind }: Setting): string {
  switch (kind.type) {
    case "switch":
      return "true or false (or yes, on, 1, no, off, 0)";
    case "redaction":
      return "false, true or strict";
    case "whole":
      return kind.most === undefined
        ? `a whole number of at least ${kind.least}`
        : `a whole number from ${kind.least} to ${kind.most}`;
    case "share":
      return "a number from 0.1 to 1, such as 0.85";
    case "choice":
      return `one of ${kind.options.join(", ")}`;
    case "zone":
      return 'the name of a time zone, such as "Europe/Berlin" or "UTC"';
    case "address":
      return "an address that starts with http:// or https://";
    case "name":
      return "a name of lower-case letters, digits, - and _";
    case "ids":
      return "a list of ids ([1, 2], or 1,2); to allow everyone, set allow_all";
    case "platforms":
      return `a list of platforms (${listKnownPlatforms().join(", ")})`;
    case "tools":
      return `all, none, or a list of tools (${TOOL_NAMES.join(", ")})`;
    case "folder":
      return "an absolute path of a folder, starting with / or ~/";
    case "folders":
      return "a list of absolute paths of folders, each starting with / or ~/";
    case "variables":
      return "a list of variable names, such as [LANG, JAVA_HOME]";
    case "modules":
      return "a list of files and packages, such as [./my-plugin.ts, postrider-plugin-x]";
    case "word":
      return "one word";
    case "id":
      return "a name or an id";
    case "text":
      return "a text";
  }
}

/** The known tool that is most similar to an unknown one in the list. */
export function findNearestTool({ kind }: Setting, given: unknown): string | undefined {
  if (kind.type !== "tools") return undefined;
  const items = list.safeParse(given).data ?? [];
  const unknown = expandToolNames(items).filter((name) => !isTool(name));
  return unknown
    .map((name) => findNearestName(TOOL_NAMES, normalizeToolName(name)))
    .find((name) => name !== undefined);
}

/** `all` and `none` must be the only entry. */
function expandToolNames(items: readonly string[]): readonly string[] {
  const [only = ""] = items.length === 1 ? items : [];
  if (only.toLowerCase() === "all") return TOOL_NAMES;
  return only.toLowerCase() === "none" ? [] : items;
}

function isTool(name: string): boolean {
  return TOOL_NAMES.some((known) => known === name);
}

/** Treats `readFile` and `read-file` as `read_file`. */
function normalizeToolName(name: string): string {
  return name
    .replaceAll(/(?<=[a-z])[A-Z]/g, "_$&")
    .replaceAll("-", "_")
    .toLowerCase();
}

/** `~` is the home folder of the current user. */
function expandHome(path: string): string {
  return resolve(path === "~" || path.startsWith("~/") ? homedir() + path.slice(1) : path);
}

function checkZone(name: string, otherwise: () => void): string {
  try {
    return assertZone(name);
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    otherwise();
    return name;
  }
}

function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}
