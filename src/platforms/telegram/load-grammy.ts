import { createRequire } from "node:module";
import type * as Grammy from "grammy";
import { PostriderError } from "../../core/errors.ts";

/** grammY is optional, so it is loaded only if Telegram is configured. */
export function loadGrammy(load: (name: string) => unknown = createRequire(import.meta.url)): typeof Grammy {
  try {
    return load("grammy") as typeof Grammy;
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "MODULE_NOT_FOUND")) throw cause;
    throw new PostriderError(
      "invalid_config",
      "Telegram needs the package grammy, which is not installed. Install it next to postrider: npm install grammy",
    );
  }
}
