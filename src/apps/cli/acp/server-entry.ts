import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { resolveHome } from "../../home.ts";

/** The command that an editor starts. */
export interface ServerEntry {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ServerEntryOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Also lists sessions from messengers and terminals. */
  readonly all: boolean;
  /** The value of `--agent`. */
  readonly agent?: string | undefined;
}

/** The relative path is the same from src and from dist. */
const ENTRY = fileURLToPath(new URL("../../../../bin/postrider.mjs", import.meta.url));
/** The only variable that Postrider writes. Others in an entry belong to the person, and may contain keys. */
const HOME_VARIABLE = "POSTRIDER_HOME";

/**
 * Absolute paths: an editor that was started from the desktop has a short PATH, perhaps with an old Node. Only the home is
 * copied from the environment, because people synchronise and share their editor settings.
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

/** The editor starts the command in another folder. */
function toAbsoluteAgent(agent: string): string {
  const [, file] = /^script:(.+)$/s.exec(agent) ?? [];
  return file === undefined ? agent : `script:${resolve(file)}`;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * The names of the fields that differ, never their values. Fields and variables of the editor or the person, such as a
 * chosen model or a key, are ignored.
 */
export function findEntryDifferences(existing: unknown, expected: Fields): readonly string[] {
  const fields = toFields(existing);
  const names = Object.keys(expected).filter(
    (name) => name !== "env" && !isDeepStrictEqual(fields[name], expected[name]),
  );
  const isSameHome = toFields(fields.env)[HOME_VARIABLE] === toFields(expected.env)[HOME_VARIABLE];
  return isSameHome ? names : [...names, `env.${HOME_VARIABLE}`];
}

/** The new entry with the fields and variables that Postrider does not write. */
export function combineEntries(existing: unknown, expected: Fields): Fields {
  const fields = toFields(existing);
  const { [HOME_VARIABLE]: _, ...env } = toFields(fields.env);
  return { ...fields, ...expected, env: { ...env, ...toFields(expected.env) } };
}

function toFields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}
