import { NO_RESET, type RoutingSettings, systemClock } from "../../src/index.ts";

/** How tests find conversations when they speak to a store directly. No test turns out otherwise at four o'clock. */
export const settings: RoutingSettings = {
  zone: "UTC",
  profile: "main",
  reset: { default: NO_RESET, byType: {}, byPlatform: {} },
  scope: {},
  clock: systemClock,
};
