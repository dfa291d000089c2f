import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { resolveHome } from "../../home.ts";

/** What an editor starts, and with which variables. */
export interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ServerEntryOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Sessions from other places are listed too. */
  readonly all: boolean;
  /** Who answers, as `--agent` takes it. */
  readonly agent?: string | undefined;
}

/** The same distance from the package's root in a clone (src) and in the package (dist). */
const ENTRY = fileURLToPath(new URL("../../../../bin/postrider.mjs", import.meta.url));
/** The one variable that is ours. Others in an entry are a person's, and may hold keys. */
const HOME_VARIABLE = "POSTRIDER_HOME";

/**
 * Whole paths: an editor that was started from the desktop has a bare PATH, and perhaps an old Node on it. No variable of
 * this shell but the home is taken over, because editors' settings are copied, synchronised and shown to others.
 */
export function buildServerEntry({ environment, all, agent }: ServerEntryOptions): ServerEntry {
  const home = resolveHome(environment).folder;
  return {
    command: process.execPath,
    args: [
      ENTRY,
      "acp",
      ...(all ? ["--all"] : []),
      ...(agent === undefined ? [] : ["--agent", toAbsoluteAgent(agent)]),
    ],
    env: home === resolveHome({}).folder ? {} : { [HOME_VARIABLE]: home },
  };
}

/** The editor starts it in another folder than the one in which the file was named. */
function toAbsoluteAgent(agent: string): string {
  const [, file] = /^script:(.+)$/s.exec(agent) ?? [];
  return file === undefined ? agent : `script:${resolve(file)}`;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * What an entry says otherwise than the one wanted: names of fields, never their values. Fields and variables that are not
 * ours (an editor keeps a chosen model there, a person a key) make no difference.
 */
export function findEntryDifferences(existing: unknown, wanted: Fields): readonly string[] {
  const fields = toFields(existing);
  const names = Object.keys(wanted).filter(
    (name) => name !== "env" && !isDeepStrictEqual(fields[name], wanted[name]),
  );
  const isSameHome = toFields(fields.env)[HOME_VARIABLE] === toFields(wanted.env)[HOME_VARIABLE];
  return isSameHome ? names : [...names, `env.${HOME_VARIABLE}`];
}

/** The entry wanted, with what is not ours as it was. */
export function combineEntries(existing: unknown, wanted: Fields): Fields {
  const fields = toFields(existing);
  const { [HOME_VARIABLE]: _, ...env } = toFields(fields.env);
  return { ...fields, ...wanted, env: { ...env, ...toFields(wanted.env) } };
}

function toFields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
