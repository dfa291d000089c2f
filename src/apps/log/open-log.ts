import { createRequire } from "node:module";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Log } from "../../ports/log.ts";
import type { LogLevel } from "../config/config.ts";
import type { Home } from "../home.ts";
import { createLineFormatter } from "./line-formatter.ts";
import { openRotatingFile } from "./rotating-file.ts";
import { createLogMask, type LogMask } from "./secrets.ts";

const MOST_BYTES = 5_000_000;
export const LOGS_KEPT = 3;

export interface OpenLogOptions {
  readonly home: Pick<Home, "folder">;
  /** Whose log it is. Default: the gateway's. */
  readonly name?: LogName;
  readonly level: LogLevel;
  /** Where lines go besides the file: to people as they read them, to programs as JSON. */
  readonly show?: { write(text: string): unknown };
  /** Whether people look there, and whether they see colours. */
  readonly pretty?: { readonly color: boolean };
  /** For tests. */
  readonly mostBytes?: number;
}

export interface OpenLog extends Log, Pick<LogMask, "addSecrets"> {
  level(level: LogLevel): void;
  close(): void;
}

export type LogName = "gateway" | "editor" | "keeper";

export function getLogFile({ folder }: Pick<Home, "folder">, name: LogName = "gateway"): string {
  return join(folder, "logs", `${name}.log`);
}

/**
 * The log of a program that runs for long: one JSON object a line in the home's file, and the same shown. Whatever is
 * logged, known secrets are taken out of the whole line, so that no field, message or error can carry one.
 */
export function openLog(options: OpenLogOptions): OpenLog {
  const { show } = options;
  const secrets = createLogMask();
  const shown = options.pretty === undefined ? (line: string) => line : createLineFormatter(options.pretty);
  const file = openRotatingFile({
    file: getLogFile(options.home, options.name),
    mostBytes: options.mostBytes ?? MOST_BYTES,
    kept: LOGS_KEPT,
    onFailure: ({ message }) => show?.write(`The log cannot be written: ${message}\n`),
  });
  let level = options.level;
  let made: Logger | undefined;
  /** Loaded with the first line: an editor waits for its agent to start, which has nothing to log by then. */
  function logger(): Logger {
    if (made !== undefined) return made;
    const { pino, stdSerializers } = createRequire(import.meta.url)("pino") as typeof import("pino");
    made = pino(
      {
        level,
        base: { pid: process.pid },
        formatters: { level: (label) => ({ level: label }) },
        serializers: { error: stdSerializers.err },
      },
      {
        write(line: string) {
          const masked = secrets.mask(line);
          file.write(masked);
          show?.write(shown(masked));
        },
      },
    );
    return made;
  }
  return {
    debug: (fields, words) => logger().debug(fields, words),
    info: (fields, words) => logger().info(fields, words),
    warn: (fields, words) => logger().warn(fields, words),
    error: (fields, words) => logger().error(fields, words),
    addSecrets: secrets.addSecrets,
    level(now) {
      level = now;
      if (made !== undefined) made.level = now;
    },
    close: file.close,
  };
}
