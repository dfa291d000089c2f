import { PostriderError } from "../core/errors.ts";
import { ROLES } from "../core/message.ts";
import { SESSION_KINDS } from "../core/session.ts";
import { USAGE_PURPOSES } from "../core/usage.ts";
import type { Sessions } from "./sessions.ts";

/** Throws an error with the name of the field unless the value is valid. */
type Check = (value: unknown, field: string) => void;

/**
 * Wraps the methods and checks every argument first, for callers without types: they get a clear error, and an invalid `who`
 * never gets access.
 */
export function checkArguments(sessions: Sessions): Sessions {
  const checked: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(sessions)) {
    const checks = Object.entries(CALLS[name as keyof Sessions]);
    checked[name] = (...args: unknown[]): unknown => {
      try {
        for (const [index, [field, check]] of checks.entries()) check(args[index], field);
      } catch (error) {
        return name === "follow" ? failIteration(error) : Promise.reject(error);
      }
      return (method as (...args: unknown[]) => unknown)(...args);
    };
  }
  return checked as unknown as Sessions;
}

/** `follow` returns an iterable, so its error appears on the first iteration. */
// biome-ignore lint/correctness/useYield: it ends before its first value
async function* failIteration(error: unknown): AsyncGenerator<never> {
  throw error;
}

const text = kindOf("a text", (value) => typeof value === "string");
const flag = kindOf("true or false", (value) => typeof value === "boolean");
const flagOrText = kindOf("true, false or a reason", (value) => /^(?:boolean|string)$/.test(typeof value));
const count = kindOf(
  "a whole number, zero or more",
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
const number = kindOf("a number", (value) => Number.isFinite(value));
/** Lone surrogates cannot be stored: two different names would become equal. */
const name = kindOf(
  "a text that is not empty and is valid Unicode",
  (value) => typeof value === "string" && value !== "" && value.isWellFormed(),
);
const kind = oneOf(...SESSION_KINDS);
const json = kindOf("an object of plain JSON data", (value) => isObject(value) && isJson(value));
const person = all({ person: name }, ["person"]);
const asker: Check = (value, field) => {
  // `everyone: false` must not grant full access.
  if (isObject(value) && "everyone" in value) all({ everyone: oneOf(true) }, ["everyone"])(value, field);
  else all({ person: name, chat: name }, ["person"])(value, field);
};
/** The called method checks these fields itself. */
const later: Check = () => {};

const one = { who: asker, id: text };
const titled = { ...one, title: text };
const createFields = {
  id: text,
  kind,
  title: text,
  cwd: text,
  model: text,
  provider: text,
  baseUrl: text,
  config: json,
};

/** The arguments of each method in order. An absent option is always valid. */
const CALLS: Readonly<Record<keyof Sessions, Readonly<Record<string, Check>>>> = {
  open: { from: later, options: maybe(all({ fresh: flag, kind, person: name, policy: all({}) })) },
  markShown: { conversation: count, shown: all({ note: flag, notice: flag }) },
  create: { who: person, options: maybe(all(createFields)) },
  append: { ...one, messages: later },
  history: { ...one, range: maybe(all({ offset: count, limit: count })) },
  shownLength: one,
  ranges: one,
  messages: { ...one, range: maybe(all({ after: count, limit: count })) },
  follow: { ...one, options: maybe(all({ after: count, signal: later })) },
  rewrite: { ...one, messages: listOf(later) },
  undo: one,
  redo: one,
  rewind: { ...one, to: all({ session: text, seq: count }, ["seq"]) },
  compress: { ...one, summary: text, options: maybe(all({ keepLast: count })) },
  versions: one,
  restore: { ...one, version: count },
  fork: { ...one, options: maybe(all({ ...createFields, keep: count })) },
  recordUsage: { ...one, usage: all({}), options: maybe(all({ purpose: oneOf(...USAGE_PURPOSES) })) },
  usageEntries: one,
  reset: { who: asker, conversation: count },
  switchTo: { who: asker, conversation: count, id: text },
  title: titled,
  autoTitle: { ...titled, options: maybe(all({ ifUntitled: flag, usage: all({}) })) },
  findByTitle: { who: asker, title: text },
  get: one,
  find: { who: asker, text },
  list: {
    who: asker,
    query: maybe(
      all({
        activeSince: number,
        platform: text,
        owner: text,
        kinds: listOf(kind),
        archived: oneOf(true, false, "both"),
        titled: flag,
        used: flag,
        cwd: text,
        limit: count,
        cursor: text,
      }),
    ),
  },
  search: {
    who: asker,
    text,
    query: maybe(
      all({
        session: text,
        platforms: listOf(text),
        kinds: listOf(kind),
        roles: listOf(oneOf(...ROLES)),
        undone: flag,
        limit: count,
        offset: count,
      }),
    ),
  },
  change: {
    ...one,
    change: all({
      cwd: orNull(text),
      model: orNull(text),
      provider: orNull(text),
      baseUrl: orNull(text),
      config: orNull(json),
      archived: flag,
      ended: flagOrText,
    }),
  },
  archive: { ...one, archived: maybe(flag) },
  remove: one,
  prune: {
    who: asker,
    options: maybe(
      all({ olderThanDays: number, platform: text, kinds: listOf(kind), dryRun: flag, limit: count }),
    ),
  },
  hold: { ...one, name, ms: number },
  release: { ...one, name },
  hasOther: one,
  stats: { who: asker },
  blob: { who: asker, hash: text },
  conversations: { who: asker, of: later },
  listConversations: {
    who: asker,
    query: maybe(all({ platform: text, limit: count, cursor: text })),
  },
  decisions: { who: asker, conversation: count },
  export: one,
  import: { json: later, options: maybe(all({ owner: name })) },
};

function kindOf(expected: string, fits: (value: unknown) => boolean): Check {
  return (value, field) => {
    if (fits(value)) return;
    throw new PostriderError("invalid_input", `${field} must be ${expected}.`, { details: { field } });
  };
}

function oneOf(...values: readonly unknown[]): Check {
  return kindOf(values.length === 1 ? String(values[0]) : `one of ${values.join(", ")}`, (value) =>
    values.includes(value),
  );
}

function maybe(check: Check): Check {
  return (value, field) => {
    if (value !== undefined) check(value, field);
  };
}

function orNull(check: Check): Check {
  return (value, field) => {
    if (value !== null) check(value, field);
  };
}

function listOf(check: Check): Check {
  const list = kindOf("a list", Array.isArray);
  return (value, field) => {
    list(value, field);
    for (const [index, item] of (value as readonly unknown[]).entries()) check(item, `${field}[${index}]`);
  };
}

/** An object with these fields. Only required fields must be present; unknown fields are ignored. */
function all(fields: Readonly<Record<string, Check>>, required: readonly string[] = []): Check {
  const object = kindOf("an object", isObject);
  return (value, field) => {
    object(value, field);
    const values = value as Readonly<Record<string, unknown>>;
    for (const [key, check] of Object.entries(fields)) {
      if (values[key] !== undefined || required.includes(key)) check(values[key], `${field}.${key}`);
    }
  };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJson(value: object): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
