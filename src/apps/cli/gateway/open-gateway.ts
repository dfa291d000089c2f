import { type ComposedGateway, composeGateway } from "../../compose-gateway.ts";
import type { LogLevel } from "../../config/config.ts";
import { openConfig } from "../../config/open-config.ts";
import { type OpenLog, openLog } from "../../log/open-log.ts";
import { collectSecrets } from "../../log/secrets.ts";
import { locateConfig } from "../config/local-config.ts";
import { hasColor, type Io } from "../io.ts";

export interface OpenGatewayOptions {
  readonly agent?: string;
  /** Whatever the configuration says. */
  readonly level?: LogLevel;
  /** Whether the log is shown besides being written. */
  readonly showsLog: boolean;
}

export interface OpenGateway {
  readonly gateway: ComposedGateway;
  readonly log: OpenLog;
  /** Lets go of configuration and log, once the gateway has ended. */
  close(): void;
}

/** A gateway as a command runs it: with the configuration of this place, and a log for whoever looks on. */
export async function openGateway(
  io: Io,
  { agent, level, showsLog }: OpenGatewayOptions,
): Promise<OpenGateway> {
  const { environment } = io;
  const place = locateConfig(io);
  const told: string[] = [];
  let notice = (text: string): unknown => told.push(text);
  const config = openConfig({ ...place, notice: (text) => notice(text) });
  const log = openLog({
    home: place.home,
    level: level ?? config.current().log.level,
    ...(showsLog && { show: io.notices }),
    ...(io.notices.isTTY && { pretty: { color: hasColor(io, io.notices) } }),
  });
  log.addSecrets(collectSecrets(environment, config.current()));
  notice = (text) => log.warn({}, text);
  told.forEach(notice);
  const close = (): void => {
    config.close();
    log.close();
  };
  try {
    const given = { ...(agent !== undefined && { agent }), ...(level !== undefined && { level }) };
    const gateway = await composeGateway({ home: place.home, environment, config, log, ...given });
    return { gateway, log, close };
  } catch (error) {
    close();
    throw error;
  }
}
