import { defineReceivingRules } from "./contract-receiving.ts";
import { defineSendingRules } from "./contract-sending.ts";
import { createPlatformRule, type PlatformHarness } from "./platform-scene.ts";
import type { TestApi } from "./scene.ts";

/** Every rule of the platform port, as tests. A platform is finished when they pass. */
export function platformContract(api: TestApi, harness: PlatformHarness): void {
  const rule = createPlatformRule(api, harness);
  defineReceivingRules(api, rule);
  defineSendingRules(api, rule);
}
