export type { StoreHarness, TestApi } from "./scene.ts";
export { storeContract } from "./store-contract.ts";
