import { afterAll, describe, expect, it } from "vitest";
import { openScopedStore } from "../../../test/support/scoped-store.ts";
import { singleFileHarness } from "../../../test/support/store-harness.ts";
import { storeContract } from "../../testing/index.ts";
import { findOperation, OPERATIONS } from "../sql/operations.ts";

const written = new Set<string>();

describe("a write touches only rows of its scope", () => {
  storeContract(
    { describe, it },
    singleFileHarness(
      (file) => openScopedStore(file, (name) => written.add(name)),
      async (store) => store.index(),
    ),
  );

  afterAll(() => {
    const writes = Object.values(OPERATIONS)
      .flatMap((facet) => Object.keys(facet))
      .filter((name) => !findOperation(name).kind.startsWith("read"));
    expect(writes.filter((name) => !written.has(name))).toEqual([]);
  });
});
