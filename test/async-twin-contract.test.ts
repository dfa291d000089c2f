import { describe, it } from "vitest";
import { storeContract } from "../src/testing/index.ts";
import { asyncSqliteStore } from "./support/async-store.ts";
import { fileHarness } from "./support/store-harness.ts";

describe("the asynchronous twin of the operations, on SQLite", () => {
  storeContract(
    { describe, it },
    fileHarness(asyncSqliteStore, (store) => store.indexAll()),
  );
});
