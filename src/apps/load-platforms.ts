import { PostriderError } from "../core/errors.ts";
import type { Log } from "../ports/log.ts";
import type { Platform } from "../ports/platform.ts";
import type { Config } from "./config/config.ts";

/** Loads the enabled platforms. The library of a platform is loaded only when needed. */
export async function loadPlatforms(
  { platforms: { telegram: settings } }: Config,
  environment: NodeJS.ProcessEnv,
  log: Log,
): Promise<readonly Platform[]> {
  if (!settings.enabled) return [];
  if (settings.token === undefined) {
    throw new PostriderError(
      "invalid_config",
      "platforms.telegram is enabled, but has no token. To set it: postrider connect telegram",
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

/** The address of a self-hosted Bot API server. */
export function readApiRoot({ TELEGRAM_API_ROOT: apiRoot }: NodeJS.ProcessEnv): {
  readonly apiRoot?: string;
} {
  return apiRoot ? { apiRoot } : {};
}
