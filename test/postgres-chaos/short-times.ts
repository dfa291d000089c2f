import { registerHooks } from "node:module";

/** How much shorter these times are than in the product. */
export const SHORTENED = 5;
/** A gateway without a heartbeat for this long has lost its work. */
export const DEAD_MS: number = 30_000 / SHORTENED;

/** The constants by file, with the values that they have in the product. All keep their proportions. */
const TIMES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "src/core/runner.ts": { RUNNER_DEAD_MS: 30_000, HEARTBEAT_MS: 10_000 },
  "src/gateway/connect.ts": { SEND_MARGIN_MS: 10_000 },
  "src/gateway/deliver.ts": { LAST_SEND_MS: 10_000 },
  "src/gateway/gateway.ts": { RECOVER_EVERY_MS: 5000, STANDBY_MS: 2000, GRACE_MS: 20_000 },
  "src/stores/postgres/options.ts": { IDLE_IN_TRANSACTION_MS: 10_000 },
};

/**
 * In a child, before it loads the gateway: shortens leases and the times that depend on them, so that a take-over takes
 * seconds. The product has no setting for them.
 */
export function shortenTimes(): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const file = Object.keys(TIMES).find((name) => url.endsWith(`/${name}`));
      if (file === undefined || loaded.source === undefined || loaded.source === null) return loaded;
      const source =
        typeof loaded.source === "string"
          ? loaded.source
          : Buffer.from(loaded.source as Uint8Array).toString();
      return { ...loaded, source: replaceTimes(source, TIMES[file] ?? {}) };
    },
  });
}

/** Throws if a constant is gone or has another value, because the proportions would be wrong. */
export function replaceTimes(source: string, times: Readonly<Record<string, number>>): string {
  let replaced = source;
  for (const [name, ms] of Object.entries(times)) {
    const pattern = new RegExp(`\\bconst ${name} = ([\\d_]+);`);
    const value = pattern.exec(replaced)?.[1]?.replaceAll("_", "");
    if (Number(value) !== ms)
      throw new Error(`${name} is not ${ms}: correct test/postgres-chaos/short-times.ts`);
    replaced = replaced.replace(pattern, `const ${name} = ${ms / SHORTENED};`);
  }
  return replaced;
}
