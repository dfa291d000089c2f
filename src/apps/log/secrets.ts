import type { Config } from "../config/config.ts";

/** What stands where a secret was. */
export const MASK = "[secret]";
/** Shorter ones are no secrets but placeholders, such as the key of a server that wants none. */
const SHORTEST = 8;
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
  return {
    learn(secrets) {
      // The longest first: one may be a part of another.
      known = [...new Set([...known, ...secrets.flatMap(formsOf)])].toSorted((a, b) => b.length - a.length);
    },
    masked: (text) => known.reduce((rest, secret) => rest.replaceAll(secret, MASK), text),
  };
}

/** The ways in which a secret may be written. Of a bot's token, what follows the bot's id is the secret. */
function formsOf(given: string): readonly string[] {
  const secret = given.trim();
  const [, behind = ""] = /^\d+:(.+)$/s.exec(secret) ?? [];
  return [secret, behind]
    .filter((part) => part.length >= SHORTEST)
    .flatMap((part) => {
      const json = JSON.stringify(part).slice(1, -1);
      return [part, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(part.toWellFormed())];
    });
}
