import { AGENT_MARK } from "./agent-mark.ts";

/** Variables that a process needs to find commands, to run, and to use the language of the user. */
const PASSED_NAMES = new Set(
  `PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP XDG_RUNTIME_DIR SystemRoot
   LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME LC_PAPER LC_MEASUREMENT`.split(
    /\s+/,
  ),
);

/**
 * The whole environment of a child process: the variables on the list, and those configured by their exact names. Any
 * other variable may contain a key or a token.
 */
export function buildChildEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  names: readonly string[] = [],
): Record<string, string> {
  const passed = [...PASSED_NAMES, ...names].flatMap((name) => {
    const value = from[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // Output is read as it is printed, so Python must not buffer it.
  return { PYTHONUNBUFFERED: "1", ...Object.fromEntries(passed) };
}

/** The same for a process that an agent's tool starts, with the mark that `isRunByAgent` reads. */
export function buildAgentEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  names: readonly string[] = [],
): Record<string, string> {
  return { ...buildChildEnvironment(from, names), [AGENT_MARK]: "1" };
}
