import { parseArgs } from "node:util";
import type { PostriderError } from "../../core/errors.ts";

const HELP = `postrider: a conversation that is never lost

Usage: postrider [options]

Reads lines and answers each one. Every message is on the disk before it is answered, and the conversation goes on
where it was at the next start. The agent repeats what you say; models and messengers are not connected yet.

Options:
  --help      this text
  --version   the version

Environment:
  POSTRIDER_HOME   where everything is kept (default: ~/.postrider)

Examples:
  postrider                 talk in the terminal; Ctrl-D leaves
  echo hello | postrider    one answer per line, and nothing else, on stdout

Exit codes: 0 done, 1 something failed (the sentence says what), 2 the arguments are wrong
`;

/** Parses the arguments before anything heavy is loaded. Returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  let wanted: { help?: boolean; version?: boolean };
  try {
    wanted = parseArgs({
      args: [...args],
      options: { help: { type: "boolean", short: "h" }, version: { type: "boolean", short: "V" } },
    }).values;
  } catch (error) {
    process.stderr.write(`postrider: ${(error as Error).message}\nSee postrider --help.\n`);
    return 2;
  }
  if (wanted.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (wanted.version) {
    const { version } = await import("./version.ts");
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  try {
    const { chat } = await import("./chat.ts");
    await chat({
      input: process.stdin,
      output: process.stdout,
      notices: process.stderr,
      environment: process.env,
    });
    return 0;
  } catch (error) {
    const { code, message } = error as PostriderError;
    process.stderr.write(`postrider: ${message}${code ? ` (${code})` : ""}\n`);
    return 1;
  }
}
