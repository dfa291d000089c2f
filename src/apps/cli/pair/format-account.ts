import type { AccountName } from "../../../core/access.ts";
import { toOneLine } from "../../../core/printable.ts";

/** An account as JSON; docs/json.md describes it. */
export function formatAccountJson({ platform, userId, altId, name }: AccountName): object {
  return { platform, user_id: userId ?? null, user_id_alt: altId ?? null, user_name: name ?? null };
}

/** `Ada (42 on telegram)`. */
export function formatAccount({ platform, userId, altId, name }: AccountName): string {
  const id = `${toOneLine(userId ?? altId ?? "")} on ${platform}`;
  return name === undefined ? id : `${toOneLine(name)} (${id})`;
}
