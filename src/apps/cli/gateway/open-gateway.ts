import { type ComposedGateway, composeGateway } from "../../compose-gateway.ts";
import type { LogLevel } from "../../config/config.ts";
import { openConfig } from "../../config/open-config.ts";
import { type OpenLog, openLog } from "../../log/open-log.ts";
import { collectSecrets } from "../../log/secrets.ts";
import { locateConfig } from "../config/local-config.ts";
import { hasColor, type Io } from "../io.ts";
import { readVersion } from "../version.ts";

export interface OpenGatewayOptions {
  readonly agent?: string;
  /** Overrides the log level of the configuration. */
  readonly level?: LogLevel;
  /** Runs turns for the gateways, and connects to no messenger. */
  readonly worker?: boolean;
  /** Whether the log also goes to stderr. */
  readonly showsLog: boolean;
}

export interface OpenGateway {
  readonly gateway: ComposedGateway;
  readonly log: OpenLog;
  /** Closes the configuration and the log, after the gateway has ended. */
  close(): void;
}

/** Opens a gateway for a command, with the configuration of this folder and a log. */
export async function openGateway(
  io: Io,
  { agent, level, worker = false, showsLog }: OpenGatewayOptions,
): Promise<OpenGateway> {
  const { environment } = io;
  const location = locateConfig(io);
  const early: string[] = [];
  let notice = (text: string): unknown => early.push(text);
  const config = openConfig({ ...location, notice: (text) => notice(text) });
  const log = openLog({
    home: location.home,
    ...(worker && { name: "worker" }),
    level: level ?? config.current().log.level,
    ...(showsLog && { show: io.notices }),
    ...(io.notices.isTTY && { pretty: { color: hasColor(io, io.notices) } }),
  });
  log.addSecrets(collectSecrets(environment, config.current()));
  notice = (text) => log.warn({}, text);
  early.forEach(notice);
  const close = (): void => {
    config.close();
    log.close();
  };
  try {
    const overrides = { ...(agent !== undefined && { agent }), ...(level !== undefined && { level }) };
    const gateway = await composeGateway({
      ...{ home: location.home, environment, config, log, worker, version: readVersion() },
      ...overrides,
    });
    return { gateway, log, close };
  } catch (error) {
    close();
    throw error;
  }
}
