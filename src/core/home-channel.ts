import type { HomeChannel } from "./session-context.ts";

/** A platform's home channel and its origin. */
export interface ResolvedHomeChannel extends HomeChannel {
  readonly from: "command" | "configuration";
}

/** `/sethome` overrides the configuration, until `/sethome clear`. Sorted by platform. */
export function mergeHomeChannels(
  configured: readonly HomeChannel[],
  set: readonly HomeChannel[],
): readonly ResolvedHomeChannel[] {
  const homes = new Map<string, ResolvedHomeChannel>();
  for (const home of configured) homes.set(home.platform, { ...home, from: "configuration" });
  for (const home of set) homes.set(home.platform, { ...home, from: "command" });
  return [...homes.values()].toSorted((a, b) => (a.platform < b.platform ? -1 : 1));
}

export function formatHomeOrigin({ from }: Pick<ResolvedHomeChannel, "from">): string {
  return from === "command" ? "set with /sethome" : "from the configuration";
}
