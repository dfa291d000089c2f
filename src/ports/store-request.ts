import type { Asker } from "../core/owner.ts";
import type { Refused } from "../core/refusal.ts";

/** A session and the asker. A session that the asker may not see gives the same result as one that does not exist. */
export interface SessionRequest {
  readonly asker: Asker;
  readonly session: string;
}

/** The time to store, from the caller's clock. */
export type Now = { readonly now: number };

/** A refusal is a value, not an exception: the caller decides how to report it. */
export type Maybe<T> = Promise<T | Refused>;
