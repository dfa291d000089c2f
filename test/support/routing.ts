import { DEFAULT_RESET, type RoutingSettings, systemClock } from "../../src/index.ts";

/** How tests find conversations when they speak to a store directly. */
export const settings: RoutingSettings = {
  zone: "UTC",
  profile: "main",
  reset: DEFAULT_RESET,
  scope: {},
  clock: systemClock,
};
