import { afterAll, describe, it } from "vitest";
import { postgresHarness } from "../../../test/support/postgres-harness.ts";
import { storeContract } from "../../testing/index.ts";

describe("a store on PostgreSQL", () => {
  const harness = postgresHarness("contract");
  afterAll(() => harness.close());
  storeContract({ describe, it }, harness);
});
