import type { Store } from "../../src/ports/store.ts";

export interface StoreCall {
  /** The method's name, such as `finish`. */
  readonly name: string;
  readonly input: unknown;
  /** Makes the call. */
  run(): Promise<unknown>;
}

/** A store whose calls all go through `wrap`. */
export function wrapStore(store: Store, wrap: (call: StoreCall) => unknown): Store {
  const facets = Object.entries(store).map(([facet, value]: [string, unknown]) =>
    typeof value === "function" ? [facet, value] : [facet, wrapFacet(value as object, wrap)],
  );
  return Object.fromEntries(facets) as Store;
}

function wrapFacet(facet: object, wrap: (call: StoreCall) => unknown): object {
  return Object.fromEntries(
    Object.entries(facet).map(([name, method]: [string, (input: unknown) => Promise<unknown>]) => [
      name,
      (input: unknown) => wrap({ name, input, run: () => method(input) }),
    ]),
  );
}
