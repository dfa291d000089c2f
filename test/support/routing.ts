import { NO_RESET, type RoutingSettings, systemClock } from "../../src/index.ts";

/** Routing settings of tests that call a store directly. No daily reset, so that results do not depend on the time. */
export const settings: RoutingSettings = {
  zone: "UTC",
  profile: "main",
  reset: { default: NO_RESET, byType: {}, byPlatform: {} },
  scope: {},
  clock: systemClock,
};
