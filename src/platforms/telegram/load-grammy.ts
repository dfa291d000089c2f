import { createRequire } from "node:module";
import type * as Grammy from "grammy";
import { requireOptional } from "../../system/load-optional.ts";

/** The library is optional, so it is loaded when Telegram is configured, and not before. */
export function loadGrammy(load: (name: string) => unknown = createRequire(import.meta.url)): typeof Grammy {
  return requireOptional<typeof Grammy>("grammy", "Telegram", load);
}
