import type { Writes } from "./operations.ts";

/** The names alone: whoever only reads never loads what they stand for. */
export const WRITE_NAMES: Readonly<Record<keyof Writes, true>> = {
  open: true,
  accept: true,
  claim: true,
  append: true,
  finish: true,
  settle: true,
  cancelWaiting: true,
  markShown: true,
  create: true,
  reset: true,
  switchTo: true,
  reshape: true,
  fork: true,
  setTitle: true,
  change: true,
  recordUsage: true,
  remove: true,
  prune: true,
  hold: true,
  release: true,
  importSession: true,
  importMore: true,
  erasePerson: true,
  beat: true,
  retire: true,
  lease: true,
  unlease: true,
};

/** A claim or a lease that was not to be had has changed nothing: whoever waits for it must not be woken by asking. */
export function hasHappened(name: keyof Writes, value: unknown): boolean {
  return value !== undefined || (name !== "claim" && name !== "lease");
}
