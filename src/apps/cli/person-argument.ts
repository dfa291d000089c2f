import { PostriderError } from "../../core/errors.ts";
import type { PersonData } from "../../core/person.ts";
import type { Store } from "../../ports/store.ts";

/** Resolves `owner`, `p_…` or `telegram:42` to a person. */
export async function findPersonArgument(store: Store, text: string): Promise<PersonData | undefined> {
  const byId = await store.access.readPersonData({ person: text });
  const colon = text.indexOf(":");
  if (byId !== undefined || colon < 1) return byId;
  return store.access.readPersonData({ platform: text.slice(0, colon), account: text.slice(colon + 1) });
}

export function personNotFound(text: string): PostriderError {
  return new PostriderError(
    "not_found",
    `There is no person "${text}". Name one by id (owner, p_…) or by account (telegram:42).`,
    { details: { field: "person" } },
  );
}
