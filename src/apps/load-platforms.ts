import { PostriderError } from "../core/errors.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Config } from "./config/config.ts";

/** The platforms that are to be connected. Each one's library is loaded only if it is. */
export async function loadPlatforms(
  { platforms: { telegram: settings } }: Config,
  environment: NodeJS.ProcessEnv,
  log: Log,
): Promise<readonly Platform[]> {
  if (!settings.enabled) return [];
  if (settings.token === undefined) {
    throw new PostriderError(
      "invalid_config",
      "platforms.telegram is enabled, but there is no token. postrider connect telegram asks for it.",
    );
  }
  const { telegram } = await import("../platforms/telegram/platform.ts");
  return [
    telegram({
      token: settings.token,
      ...readApiRoot(environment),
      requireMention: settings.requireMention,
      replyTo: settings.replyTo,
      log,
    }),
  ];
}

/** Whoever runs a Bot API server of their own names it here. */
export function readApiRoot({ TELEGRAM_API_ROOT: apiRoot }: NodeJS.ProcessEnv): {
  readonly apiRoot?: string;
} {
  return apiRoot ? { apiRoot } : {};
}
