import { pluralize } from "./pluralize.ts";
import type { PurposeUsage, Usage, UsagePurpose } from "./usage.ts";

/** Names of the purposes for people. */
export const PURPOSE_LABELS: Readonly<Record<UsagePurpose, string>> = {
  answer: "answers",
  title: "titles",
  flush: "memory",
  compress: "summaries",
};

/** `$0.0123 (estimated)`, `at least $0.0123 (partial)`, or `unknown`. */
export function formatCost({ costUsd, costStatus }: Pick<Usage, "costUsd" | "costStatus">): string {
  if (costUsd === undefined) return costStatus;
  const sum = `$${costUsd.toFixed(4)} (${costStatus})`;
  return costStatus === "partial" ? `at least ${sum}` : sum;
}

/** `1,234 tokens, $0.0123 (estimated)`, or the tokens alone if the cost is unknown. */
export function formatTokenUsage(usage: Usage): string {
  const cost = usage.costUsd === undefined ? "" : `, ${formatCost(usage)}`;
  return `${pluralize(usage.totalTokens, "token")}${cost}`;
}

/** `answers 1,200 tokens; titles 34 tokens`. `undefined` for a single purpose: the total already shows it. */
export function formatPurposes(purposes: readonly PurposeUsage[]): string | undefined {
  if (purposes.length < 2) return undefined;
  return purposes
    .map(({ purpose, usage }) => `${PURPOSE_LABELS[purpose]} ${pluralize(usage.totalTokens, "token")}`)
    .join("; ");
}
