import { createRequire } from "node:module";
import type * as Grammy from "grammy";
import { requireOptional } from "../../system/load-optional.ts";

/** grammY is optional, so it is loaded only if Telegram is configured. */
export function loadGrammy(load: (name: string) => unknown = createRequire(import.meta.url)): typeof Grammy {
  return requireOptional<typeof Grammy>("grammy", "Telegram", load);
}
