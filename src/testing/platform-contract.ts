import { receivingRules } from "./contract-receiving.ts";
import { sendingRules } from "./contract-sending.ts";
import { type PlatformHarness, platformRuleOn } from "./platform-scene.ts";
import type { TestApi } from "./scene.ts";

/** Every rule of the platform port, as tests. A platform is finished when they pass. */
export function platformContract(api: TestApi, harness: PlatformHarness): void {
  const rule = platformRuleOn(api, harness);
  receivingRules(api, rule);
  sendingRules(api, rule);
}
