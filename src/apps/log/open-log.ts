import { createRequire } from "node:module";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Log } from "../../ports/log.ts";
import type { LogLevel } from "../config/config.ts";
import type { Home } from "../home.ts";
import { createLineFormatter } from "./line-formatter.ts";
import { openRotatingFile } from "./rotating-file.ts";
import { createLogMask, type LogMask } from "./secrets.ts";

const MAX_BYTES = 5_000_000;
export const LOGS_KEPT = 3;

export interface OpenLogOptions {
  readonly home: Pick<Home, "folder">;
  /** The name of the log. Default: gateway. */
  readonly name?: LogName;
  readonly level: LogLevel;
  /** A second target for the lines: formatted for people, JSON for programs. */
  readonly show?: { write(text: string): unknown };
  /** Formats the lines for people, with or without colours. */
  readonly pretty?: { readonly color: boolean };
  /** For tests. */
  readonly maxBytes?: number;
}

export interface OpenLog extends Log, Pick<LogMask, "addSecrets"> {
  level(level: LogLevel): void;
  close(): void;
}

export type LogName = "gateway" | "editor" | "keeper" | "worker";

export function getLogFile({ folder }: Pick<Home, "folder">, name: LogName = "gateway"): string {
  return join(folder, "logs", `${name}.log`);
}

/** Opens the log of a long-running process: one JSON object per line. Every line is masked, so that no field shows a secret. */
export function openLog(options: OpenLogOptions): OpenLog {
  const { show } = options;
  const secrets = createLogMask();
  const shown = options.pretty === undefined ? (line: string) => line : createLineFormatter(options.pretty);
  const file = openRotatingFile({
    file: getLogFile(options.home, options.name),
    maxBytes: options.maxBytes ?? MAX_BYTES,
    kept: LOGS_KEPT,
    onFailure: ({ message }) => show?.write(`Cannot write the log: ${message}\n`),
  });
  let level = options.level;
  let made: Logger | undefined;
  /** Loaded with the first line, to keep the start of an editor's agent fast. */
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
