import type { Writes } from "./operations.ts";

/** The names alone: whoever only reads never loads what they stand for. */
export const WRITE_NAMES: Readonly<Record<keyof Writes, true>> = {
  open: true,
  accept: true,
  claim: true,
  append: true,
  keepSaid: true,
  finish: true,
  acceptLine: true,
  reconsider: true,
  beginDelivery: true,
  settle: true,
  enqueue: true,
  beginDraft: true,
  noteDraft: true,
  cancelWaiting: true,
  markShown: true,
  expire: true,
  claimFlush: true,
  clear: true,
  askPairing: true,
  countGuess: true,
  clearGuesses: true,
  usePairing: true,
  link: true,
  grant: true,
  askApproval: true,
  answerApproval: true,
  create: true,
  reset: true,
  switchTo: true,
  attach: true,
  reshape: true,
  fork: true,
  setTitle: true,
  change: true,
  choose: true,
  setHome: true,
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

/** These say with `undefined` or `false` that what was asked for was not to be had. */
const ASKING: ReadonlySet<keyof Writes> = new Set(["claim", "lease", "beginDelivery", "claimFlush"]);

/** What was not to be had has changed nothing: whoever waits for it must not be woken by asking. */
export function hasHappened(name: keyof Writes, value: unknown): boolean {
  return (value !== undefined && value !== false) || !ASKING.has(name);
}
