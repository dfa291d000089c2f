import { createSecretMask } from "../../processes/masking.ts";
import type { Config } from "../config/config.ts";

const SECRET_NAME = /token|secret|passw|credential|api_?key|(?:^|_)key$/i;

/** Collects all secrets of the configuration and the environment. */
export function collectSecrets(environment: NodeJS.ProcessEnv, config?: Config): readonly string[] {
  const named = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
  const address = config?.model.baseUrl ?? environment.POSTRIDER_BASE_URL;
  const store = config?.store ?? environment.POSTRIDER_STORE;
  const passwords = [readPassword(address), readPassword(store)];
  return [config?.platforms.telegram.token, config?.model.apiKey, ...passwords, ...named].filter(
    (secret) => secret !== undefined,
  );
}

function readPassword(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).password || undefined : undefined;
}

/** Masks secrets in texts. Secrets are never removed: a replaced key stays secret. */
export interface LogMask {
  addSecrets(secrets: readonly string[]): void;
  /** Masks the JSON-escaped and URL-encoded forms too. */
  mask(text: string): string;
}

export function createLogMask(): LogMask {
  let known: readonly string[] = [];
  let masked = createSecretMask(known);
  return {
    addSecrets(secrets) {
      known = [...new Set([...known, ...secrets])];
      masked = createSecretMask(known);
    },
    mask: (text) => masked(text),
  };
}
