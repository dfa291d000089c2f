import { describe, it } from "vitest";
import { postgresHarness } from "../../../test/support/postgres-harness.ts";
import { storeContract } from "../../testing/index.ts";

describe("a store on PostgreSQL", () => {
  storeContract({ describe, it }, postgresHarness("contract"));
});
