/**
 * How much is known about a cost: `actual`, the provider reported all of it; `estimated`, at least one part comes from the
 * price table; `partial`, at least one part has no cost, so the sum is a lower bound; `unknown`, no part has a cost.
 */
export type CostStatus = "actual" | "estimated" | "partial" | "unknown";

/** The fields of usage that determine its cost status. An import may bring any text as `status`. */
export interface CostPart {
  readonly tokens: number;
  readonly costUsd?: number | undefined;
  readonly status?: string | undefined;
}

/** The status of the sum of two parts: never better than the weaker one. */
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

/** A cost without a known status is an estimate. A status without a cost is ignored. */
function knownStatus({ costUsd, status }: CostPart): CostStatus {
  if (costUsd === undefined) return "unknown";
  if (status === "actual" || status === "partial") return status;
  return "estimated";
}
