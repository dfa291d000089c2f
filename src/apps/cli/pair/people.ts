import type { AccountName } from "../../../core/access.ts";
import { onOneLine } from "../../../core/printable.ts";

/** An account as JSON; docs/json.md describes it. */
export function accountJson({ platform, userId, altId, name }: AccountName): object {
  return { platform, user_id: userId ?? null, user_id_alt: altId ?? null, user_name: name ?? null };
}

/** `Ada (42 on telegram)`. */
export function accountText({ platform, userId, altId, name }: AccountName): string {
  const id = `${onOneLine(userId ?? altId ?? "")} on ${platform}`;
  return name === undefined ? id : `${onOneLine(name)} (${id})`;
}
