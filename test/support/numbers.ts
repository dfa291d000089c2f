/** The percentile: the smallest value that is at least as large as this share of all values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Epoch milliseconds with fractions, comparable between processes of this machine. */
export function instant(): number {
  return performance.timeOrigin + performance.now();
}
