import type { Asker } from "../core/owner.ts";
import type { Refused } from "../core/refusal.ts";

/** A session, and who asks for it. Someone else's session and no session look the same. */
export interface SessionRequest {
  readonly asker: Asker;
  readonly session: string;
}

/** The caller's clock decides what is stored. */
export type Now = { readonly now: number };

/** A refusal is a value: the caller decides what to tell the person. */
export type Maybe<T> = Promise<T | Refused>;
