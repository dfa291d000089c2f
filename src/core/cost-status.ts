/**
 * How much is known about a cost: `actual`, the provider reported all of it; `estimated`, at least one part comes from the
 * price table; `partial`, at least one part has no cost, so the sum is a lower bound; `unknown`, no part has a cost.
 */
export type CostStatus = "actual" | "estimated" | "partial" | "unknown";

/** Usage as far as its cost is concerned. `status` may be a text that another program stored. */
export interface CostPart {
  readonly tokens: number;
  readonly costUsd?: number | undefined;
  readonly status?: string | undefined;
}

/** The status of two parts together. It never claims more than is known about each of them. */
export function joinCostStatus(one: CostPart, other: CostPart): string {
  if (isNothing(other)) return (isNothing(one) && other.status) || one.status || "unknown";
  if (isNothing(one)) return other.status || knownStatus(other);
  const [a, b] = [knownStatus(one), knownStatus(other)];
  if (a === b) return a;
  if (a === "unknown" || b === "unknown" || a === "partial" || b === "partial") return "partial";
  return "estimated";
}

function isNothing({ tokens, costUsd }: CostPart): boolean {
  return tokens === 0 && costUsd === undefined;
}

/** A cost that nobody vouches for is an estimate; a status without a cost says nothing. */
function knownStatus({ costUsd, status }: CostPart): CostStatus {
  if (costUsd === undefined) return "unknown";
  if (status === "actual" || status === "partial") return status;
  return "estimated";
}
