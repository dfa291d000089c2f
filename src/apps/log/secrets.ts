import { maskedBy } from "../../processes/masking.ts";
import type { Config } from "../config/config.ts";

const NAMES_SECRET = /token|secret|passw|credential|api_?key|(?:^|_)key$/i;

/** Every value that must not be written anywhere: what configuration holds, and what the environment calls so. */
export function secretsOf(environment: NodeJS.ProcessEnv, config?: Config): readonly string[] {
  const named = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && NAMES_SECRET.test(name) ? [value] : [],
  );
  const address = config?.model.baseUrl ?? environment.POSTRIDER_BASE_URL;
  return [config?.platforms.telegram.token, config?.model.apiKey, passwordIn(address), ...named].filter(
    (secret) => secret !== undefined,
  );
}

function passwordIn(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).password || undefined : undefined;
}

/** Takes secrets out of texts. It only ever learns: a key that was changed is a secret still. */
export interface Masking {
  learn(secrets: readonly string[]): void;
  /** Also where the text is JSON or an address, in which a secret may be written differently. */
  masked(text: string): string;
}

export function masking(): Masking {
  let known: readonly string[] = [];
  let masked = maskedBy(known);
  return {
    learn(secrets) {
      known = [...new Set([...known, ...secrets])];
      masked = maskedBy(known);
    },
    masked: (text) => masked(text),
  };
}
