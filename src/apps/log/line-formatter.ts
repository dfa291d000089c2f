import { createRequire } from "node:module";
import { toPrintable } from "../../core/printable.ts";

/** Formats a log line for people. */
export function createLineFormatter(options: { readonly color: boolean }): (line: string) => string {
  // Loaded only where a person reads the log.
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

/** A log line may contain text of strangers, which must not control the terminal. */
function escapeControls(line: string): string {
  const control = /\\(?:u(00(?:[01][0-9a-f]|7f))|.)/gi;
  const spelled = (found: string, code: string | undefined): string =>
    code === undefined ? found : String.fromCharCode(Number.parseInt(code, 16));
  return toPrintable(line.replaceAll(control, spelled));
}
