import { createRequire } from "node:module";
import { toPrintable } from "../../core/printable.ts";

/** A line of the log as people read it. */
export function createLineFormatter(options: { readonly color: boolean }): (line: string) => string {
  // Loaded where people look, which is not everywhere that a log is written.
  const { prettyFactory } = createRequire(import.meta.url)("pino-pretty") as typeof import("pino-pretty");
  const pretty = prettyFactory({
    colorize: options.color,
    translateTime: "SYS:yyyy-mm-dd HH:MM:ss",
    ignore: "pid",
    singleLine: true,
    errorLikeObjectKeys: ["error"],
  });
  return (line) => pretty(escapeControls(line.trimEnd()));
}

/** What strangers have written may be in it, and must not steer the terminal. */
function escapeControls(line: string): string {
  const control = /\\(?:u(00(?:[01][0-9a-f]|7f))|.)/gi;
  const spelled = (found: string, code: string | undefined): string =>
    code === undefined ? found : String.fromCharCode(Number.parseInt(code, 16));
  return toPrintable(line.replaceAll(control, spelled));
}
