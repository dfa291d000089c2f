/** How long to wait after failures in a row: the step doubles from `firstMs` up to `maxMs`. */
export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
  /** The least and the greatest share of a step that is waited, so that neighbours do not retry in step. */
  readonly spread?: readonly [least: number, greatest: number];
}

/** The wait after the n-th failure in a row. `random` is at least 0 and below 1. */
export function computeBackOff(backOff: BackOff, failures: number, random = 0): number {
  const [least, greatest] = backOff.spread ?? [1, 1];
  return Math.round(computeBackOffStep(backOff, failures) * (least + random * (greatest - least)));
}

/** The longest wait that can follow the n-th failure. */
export function computeMaxBackOff(backOff: BackOff, failures: number): number {
  const [, greatest] = backOff.spread ?? [1, 1];
  return computeBackOffStep(backOff, failures) * greatest;
}

function computeBackOffStep({ firstMs, maxMs }: BackOff, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
}
