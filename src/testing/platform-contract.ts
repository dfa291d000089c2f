import { defineReceivingRules } from "./contract-receiving.ts";
import { defineSendingRules } from "./contract-sending.ts";
import { createPlatformRule, type PlatformHarness } from "./platform-scene.ts";
import type { TestApi } from "./scene.ts";

/** Defines a test for every rule of the platform port. A platform is complete when they pass. */
export function platformContract(api: TestApi, harness: PlatformHarness): void {
  const rule = createPlatformRule(api, harness);
  defineReceivingRules(api, rule);
  defineSendingRules(api, rule);
}
