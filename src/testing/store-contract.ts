import { deliveryRules } from "./contract-deliveries.ts";
import { findingRules } from "./contract-finding.ts";
import { forkRules } from "./contract-forks.ts";
import { importRules } from "./contract-import.ts";
import { lifecycleRules } from "./contract-lifecycle.ts";
import { messageRules } from "./contract-messages.ts";
import { ownerRules } from "./contract-owners.ts";
import { personRules } from "./contract-people.ts";
import { resetRules } from "./contract-resets.ts";
import { routingRules } from "./contract-routing.ts";
import { runnerRules } from "./contract-runners.ts";
import { searchRules } from "./contract-search.ts";
import { shapeRules } from "./contract-shapes.ts";
import { surroundingsRules } from "./contract-surroundings.ts";
import { turnRules } from "./contract-turns.ts";
import { waitingRules } from "./contract-waiting.ts";
import { ruleOn, type StoreHarness, type TestApi } from "./scene.ts";

/** Every rule of the store port, as tests. A store is finished when they pass. */
export function storeContract(api: TestApi, harness: StoreHarness): void {
  const rule = ruleOn(api, harness);
  routingRules(api, rule);
  resetRules(api, rule);
  turnRules(api, rule);
  waitingRules(api, rule);
  runnerRules(api, rule);
  deliveryRules(api, rule);
  messageRules(api, rule);
  shapeRules(api, rule);
  forkRules(api, rule);
  ownerRules(api, rule);
  findingRules(api, rule);
  searchRules(api, rule);
  lifecycleRules(api, rule);
  personRules(api, rule);
  importRules(api, rule);
  surroundingsRules(api, rule);
}
