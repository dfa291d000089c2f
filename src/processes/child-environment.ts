import { AGENT_MARK } from "./agent-mark.ts";

/** What a program needs to be found, to run and to speak a person's language. */
const PASSED = new Set(
  `PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP XDG_RUNTIME_DIR SystemRoot
   LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_MONETARY LC_NUMERIC LC_TIME LC_PAPER LC_MEASUREMENT`.split(
    /\s+/,
  ),
);

/**
 * All that a program sees of our environment: what is on the list, and what is configured by its exact name. Anything else
 * may be a key or a token, whatever it is called.
 */
export function buildChildEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  names: readonly string[] = [],
): Record<string, string> {
  const passed = [...PASSED, ...names].flatMap((name) => {
    const value = from[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  // What is printed is read as it comes, not when a program has enough of it.
  return { PYTHONUNBUFFERED: "1", ...Object.fromEntries(passed) };
}

/** The same for what an agent's tool starts, marked as such: see `isRunByAgent`. */
export function buildAgentEnvironment(
  from: Readonly<Record<string, string | undefined>>,
  names: readonly string[] = [],
): Record<string, string> {
  return { ...buildChildEnvironment(from, names), [AGENT_MARK]: "1" };
}
