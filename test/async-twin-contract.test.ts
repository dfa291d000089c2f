import { describe, it } from "vitest";
import { storeContract } from "../src/testing/index.ts";
import { asyncSqliteStore } from "./support/async-store.ts";
import { singleFileHarness } from "./support/store-harness.ts";

describe("the asynchronous twin of the operations, on SQLite", () => {
  storeContract(
    { describe, it },
    singleFileHarness(asyncSqliteStore, (store) => store.indexAll()),
  );
});
