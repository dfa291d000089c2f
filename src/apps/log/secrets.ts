import { createSecretMask } from "../../processes/masking.ts";
import type { Config } from "../config/config.ts";

const SECRET_NAME = /token|secret|passw|credential|api_?key|(?:^|_)key$/i;

/** Every value that must not be written anywhere: what configuration holds, and what the environment calls so. */
export function collectSecrets(environment: NodeJS.ProcessEnv, config?: Config): readonly string[] {
  const named = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
  const address = config?.model.baseUrl ?? environment.POSTRIDER_BASE_URL;
  return [config?.platforms.telegram.token, config?.model.apiKey, readPassword(address), ...named].filter(
    (secret) => secret !== undefined,
  );
}

function readPassword(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).password || undefined : undefined;
}

/** Takes secrets out of texts. It only ever learns: a key that was changed is a secret still. */
export interface LogMask {
  addSecrets(secrets: readonly string[]): void;
  /** Also where the text is JSON or an address, in which a secret may be written differently. */
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
